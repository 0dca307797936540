"""Which runs of a plan are computed again: all of them, or one of every variant."""

from collections.abc import Sequence
from dataclasses import replace

from lnlab.compile.plan import Measurement, Plan, Run, Trajectory
from lnlab.keys import digest

MOST_VARIANTS = 40
"""Of so many variants a run is computed again at level 2; of more variants so many are drawn."""


def stratified_runs(plan: Plan, salt: str) -> list[Run]:
    """One run of every variant, of at most ``MOST_VARIANTS``; with and without updates in their proportion.

    Which variants and seeds they are follows from the salt, so that no author knows them before the lock is written.
    """

    def lot(*parts: object) -> str:
        return digest([salt, *map(str, parts)])

    by_variant: dict[str, list[Run]] = {}
    for run in plan.runs:
        by_variant.setdefault(run.variant, []).append(run)
    drawn = [min(runs, key=lambda run: lot(run.variant, run.seed)) for runs in by_variant.values()]
    kept: set[str] = set()
    for trained in (False, True):
        stratum = sorted((run for run in drawn if bool(run.steps) == trained), key=lambda run: lot(run.variant))
        share = -(-MOST_VARIANTS * len(stratum) // max(len(drawn), MOST_VARIANTS))
        kept |= {run.variant for run in stratum[:share]}
    return [run for run in drawn if run.variant in kept]


def plan_of_runs(plan: Plan, runs: Sequence[Run]) -> Plan:
    """The plan of some runs alone: what several of them need is measured once, on the first that needs it."""
    keys = {run.key for run in runs}
    needs = tuple(need for need in plan.needs if need[0] in keys)
    run_by_key = {run.key: run for run in runs}
    steps: dict[str, int] = {}
    for run in runs:
        steps[run.trajectory] = max(run.steps, steps.get(run.trajectory, 0))
    measurements: dict[str, dict[str, Measurement]] = {trajectory: {} for trajectory in steps}
    seen: set[str] = set()
    for run_key, step, probe, key in needs:
        if key not in seen:
            seen.add(key)
            measurements[run_by_key[run_key].trajectory][key] = Measurement(key, step, probe)
    trajectories: list[Trajectory] = [
        replace(unit, steps=steps[unit.key], measurements=tuple(measurements[unit.key].values()))
        for unit in plan.trajectories
        if unit.key in steps
    ]
    ordered = [run for run in plan.runs if run.key in keys]
    return replace(plan, runs=tuple(ordered), trajectories=tuple(trajectories), needs=needs)
