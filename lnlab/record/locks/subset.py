"""Which runs of a plan are computed again: all of them, or one of every variant, as far as a sample may go."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from lnlab.compile.cost.cost import cost
from lnlab.compile.plan import Measurement, Plan, Run, Trajectory
from lnlab.keys import digest
from lnlab.record.locks.equivalence import WITHOUT_NUMBERS
from lnlab.report.folder import KEY_DIGITS
from lnlab.tables import Results

if TYPE_CHECKING:
    from lnlab.compile.resolve.choices import Registries

MOST_VARIANTS = 40
"""The most variants of which level 2 computes a run again. From more variants, this number is drawn."""
LARGEST_SAMPLE = 1.2e13
"""FLOPs of a sample above which its training is cut short: a minute and a half on two cores."""


def stratified_runs(plan: Plan, salt: str) -> list[Run]:
    """One run of each of at most ``MOST_VARIANTS`` variants. Trained and untrained ones keep their proportion.

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
        # rounded up, so that no stratum is left out
        share = -(-MOST_VARIANTS * len(stratum) // max(len(drawn), MOST_VARIANTS))
        kept |= {run.variant for run in stratum[:share]}
    return [run for run in drawn if run.variant in kept]


def sample_of_plan(plan: Plan, salt: str, known: "Registries", ends: Mapping[str, Sequence[int]]) -> Plan:
    """The plan of ``stratified_runs``, with as many updates as ``LARGEST_SAMPLE`` leaves room for.

    Where training all of them would take longer, no run makes more than one common number of updates, except that it
    comes to the first of its ``ends``.

    Args:
        plan: of all runs.
        salt: see ``stratified_runs``.
        known: the registries, for the cost of a run.
        ends: of a run that trains, by its key: ``possible_ends``.
    """
    runs = stratified_runs(plan, salt)

    def cut(most: int) -> Plan:
        shorter = []
        for run in runs:
            stops = ends.get(run.key)
            if run.steps > most and stops:
                last = max((step for step in stops if step <= most), default=stops[0])
                shorter.append(replace(run, steps=min(run.steps, last)))
            else:
                shorter.append(run)
        return plan_of_runs(plan, shorter)

    limits = sorted({run.steps for run in runs}.union(*(ends.get(run.key, ()) for run in runs)))
    fitting = bisect_right(limits, LARGEST_SAMPLE, key=lambda most: flops_of_plan(cut(most), known))
    return cut(limits[max(fitting - 1, 0)])


def possible_ends(plan: Plan, committed: Results) -> dict[str, list[int]]:
    """Run -> the steps at which it may be stopped: those with committed rows, once every probe has had its first.

    What is recorded at every update is no reason to stop, unless nothing else is there.
    """
    probes = {key[:KEY_DIGITS]: str(probe["kind"]) for _, _, probe, key in plan.needs}
    rows = [
        rows.select(
            "run",
            "step",
            _probe=pl.col("measurement").replace_strict(probes, default=table, return_dtype=pl.String)
            if "measurement" in rows.columns
            else pl.lit(table),
            _update=pl.col("split") == "train" if "split" in rows.columns else pl.lit(value=False),
        )
        for table, rows in committed.tables.items()
        if rows.height and table not in WITHOUT_NUMBERS
    ]
    if not rows:
        return {}
    trained = pl.concat(rows).filter(pl.col("step") > 0).unique()
    first = trained.group_by("run", "_probe").agg(pl.col("step").min()).group_by("run").agg(_first=pl.col("step").max())
    later = trained.join(first, on="run").filter(pl.col("step") >= pl.col("_first"))
    later = later.filter(~pl.col("_update") | pl.col("_update").all().over("run"))
    steps = dict(later.group_by("run").agg(pl.col("step").unique().sort()).iter_rows())
    return {run.key: steps[run.key[:KEY_DIGITS]] for run in plan.runs if run.key[:KEY_DIGITS] in steps}


def flops_of_plan(plan: Plan, known: "Registries") -> float:
    """FLOPs of a plan. A trajectory that is cut short counts up to its cut."""
    total = 0.0
    for unit in plan.trajectories:
        train = {**unit.setting["train"], "steps": unit.steps}
        total += cost({**unit.setting, "train": train}, unit.measurements, known).flops
    return total


def plan_of_runs(plan: Plan, runs: Sequence[Run]) -> Plan:
    """The plan of some runs alone: what several of them need is measured once, on the first that needs it.

    Args:
        plan: of all runs.
        runs: some of them. One with fewer steps than in the plan loses what is measured later.
    """
    run_by_key = {run.key: run for run in runs}
    needs = tuple(need for need in plan.needs if need[0] in run_by_key and need[1] <= run_by_key[need[0]].steps)
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
    ordered = [run_by_key[run.key] for run in plan.runs if run.key in run_by_key]
    return replace(plan, runs=tuple(ordered), trajectories=tuple(trajectories), needs=needs)
