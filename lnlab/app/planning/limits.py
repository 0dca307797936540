"""A run within a number of minutes: as many whole seeds as fit, so that the remaining plan can be judged."""

import json
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from lnlab.app.compute import next_plan, plan_here
from lnlab.app.formats import format_duration
from lnlab.app.planning.pace import Pace, elapsed, expected_pace, no_pace
from lnlab.app.request import Request, compile_request, judged_plan
from lnlab.compile.work import Trajectory
from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.store.store import Store

if TYPE_CHECKING:
    from lnlab.compile.plan import Plan
    from lnlab.compile.resolve.choices import Registries

FEWEST_SEEDS = 2
"""Fewer than these have no interval."""


def within_minutes(
    store: Store, request: Request, known: "Registries", minutes: float, *, workers: int | None, memory: int | None
) -> tuple[Request, str]:
    """The request, or the same with its first seeds alone if only these fit, and what is left out, in one line.

    Args:
        store: what is there already takes no time.
        request: the question.
        known: the registries.
        minutes: that the run may take, as estimated.
        workers: asked for. None means as many as cores.
        memory: bytes that they may have. None means all of this machine.

    Raises:
        LabError: not even the fewest seeds fit, or the spec cannot be judged on those that do.
    """
    following, _ = next_plan(request, known, store)
    plan = judged_plan(request, known, following)
    stages = (following, plan) if following.undecided else (plan,)
    pending = [unit for stage in stages for unit, _ in store.pending(stage)]
    planned = plan_here(pending, known, workers, memory)
    pace = expected_pace(store, plan, known)
    if pace is None:
        what = f"the time of a run is {no_pace(plan)}"
        raise LabError(
            Issue("not-measured", f"--max-minutes {minutes:g}", what, "run one seed without it first: -s seeds=1")
        )
    lists: dict[str | None, tuple[int, ...]] = {None: plan.experiment.seeds}
    lists.update(plan.experiment.grid_seeds.items())
    most = max(map(len, lists.values()))
    whole = _seconds(plan, planned.units, plan.experiment.all_seeds, pace, known, planned.workers)
    firsts = [{seed for seeds in lists.values() for seed in seeds[:n]} for n in range(most + 1)]
    needed = [_seconds(plan, planned.units, seeds, pace, known, planned.workers) for seeds in firsts]
    if whole <= 60 * minutes:
        return request, ""
    fitting = max((n for n, seconds in enumerate(needed) if seconds <= 60 * minutes), default=0)
    option = f"--max-minutes {minutes:g}"
    if fitting < FEWEST_SEEDS:
        fewest = needed[min(FEWEST_SEEDS, most)]
        what = f"all missing runs take about {format_duration(whole)}, {FEWEST_SEEDS} seeds of them about "
        remedy = f"give at least {fewest / 60:.2g} minutes, or take fewer variants or steps"
        raise LabError(Issue("out-of-range", option, what + format_duration(fewest), remedy))
    first_seeds = {grid: list(seeds[:fitting]) for grid, seeds in lists.items()}
    fewer = [
        f"seeds={json.dumps(first_seeds.pop(None))}",
        *([f"grid_seeds={json.dumps(first_seeds)}"] if first_seeds else []),
    ]
    fewer += ["claim_seeds={}"] if plan.experiment.claim_seeds else []
    trimmed = replace(request, overrides=(*request.overrides, *fewer))
    # Refuses what cannot be judged on fewer seeds, before anything is computed.
    compile_request(trimmed, known)
    omitted = sorted({seed for seeds in lists.values() for seed in seeds[fitting:]} - firsts[fitting])
    left = ", ".join(map(str, omitted))
    return trimmed, (
        f"{option}: {fitting} of {most} seeds, about {format_duration(needed[fitting])}; left out: "
        f"{'seed' if len(omitted) == 1 else 'seeds'} {left}, for which the same command continues"
    )


def _seconds(
    plan: "Plan",
    units: Sequence[Trajectory],
    seeds: Collection[int],
    pace: Pace,
    known: "Registries",
    workers: int,
) -> float:
    """Return how long the units take without those of runs on other seeds. Units of tuning runs always count."""
    others = {run.trajectory for run in plan.runs if run.seed not in seeds}
    remaining = [unit for unit in units if unit.key not in others]
    return elapsed(list(pace.unit_seconds(remaining, known).values()), workers)
