"""Runs of other specs with whose states the units of a round begin. Those that the store lacks are computed first."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from lnlab.app.request import Request
from lnlab.app.rounds.units import compute_units
from lnlab.app.run_options import RunOptions
from lnlab.app.run_summary import RunSummary
from lnlab.compile.plan import Plan
from lnlab.compile.work import StateAddress, Trajectory
from lnlab.errors import LabError
from lnlab.execute.checkpoint import only_weights
from lnlab.issues import Issue
from lnlab.store.store import Store

if TYPE_CHECKING:
    from lnlab.compile.resolve.choices import Registries


def compute_sources(
    store: Store,
    plan: Plan,
    units: Sequence[Trajectory],
    request: Request,
    known: "Registries",
    options: RunOptions,
) -> RunSummary | None:
    """Compute the states that these units begin with and the store lacks. Returns None where it lacks none."""
    wanted = {unit.origin for unit in units}
    last = None
    for source in plan.sources:
        lacking = [
            unit
            for unit in source.trajectories
            if StateAddress(unit.key, unit.steps) in wanted and store.state(unit.key, unit.steps) is None
        ]
        if not lacking:
            continue
        before = compute_sources(store, source, lacking, request, known, options)
        if before is not None and before.interrupted:
            return before
        ready = with_weights(store, source, lacking)
        stored = store.keep_plan(source, request.spec, content=request.content)
        last = compute_units(store, source, stored, ready, request, known, options)
        if last.interrupted:
            return last
    return last


def with_weights(store: Store, plan: Plan, units: Sequence[Trajectory]) -> list[Trajectory]:
    """Units with the weights that they begin with, where they begin with another run's.

    Raises:
        LabError: that run came to no such state.
    """
    contents: dict[StateAddress, bytes] = {}
    ready = []
    for unit in units:
        if unit.origin is not None and unit.origin not in contents:
            content = store.state(unit.origin.trajectory, unit.origin.step)
            if content is None:
                key, step = unit.origin.trajectory, unit.origin.step
                source = next(source for source in plan.sources if any(run.trajectory == key for run in source.runs))
                seed = next(run.seed for run in source.runs if run.trajectory == key)
                ends = store.found(source).runs.filter(trajectory=key).row(0, named=True)
                end = f": {ends['status']}, {ends['reason']}" if ends["reason"] else ""
                what = f"the run of '{source.name}' with seed {seed} did not come to step {step}{end}"
                raise LabError(Issue("not-run", plan.name, what, "start from another step, seed or variant of it"))
            contents[unit.origin] = only_weights(content)
        ready.append(unit if unit.origin is None else replace(unit, weights=contents[unit.origin]))
    return ready
