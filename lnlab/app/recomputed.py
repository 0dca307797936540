"""Levels 2 and 3: runs of a locked report computed again in an empty store, and compared as ``lnlab diff`` compares."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import polars as pl

from lnlab.analyse.tuning.decide import decide_tuning
from lnlab.app.compute import compute_round
from lnlab.app.formats import format_duration
from lnlab.app.missing_work import unfinished_runs
from lnlab.app.request import Request, compile_request
from lnlab.app.rounds.units import RunOptions
from lnlab.app.table_specs import table_spec
from lnlab.claims.claim import Claim, Verdict
from lnlab.claims.judging import judge_all
from lnlab.claims.verdict_text import verdict_label
from lnlab.committed.comparison.numbers import compare_numbers
from lnlab.committed.judging import equal_verdicts
from lnlab.committed.locks.lock_report import Lock, read_lock
from lnlab.committed.locks.verify import ComputedAgain, VerifiedReport
from lnlab.committed.registries import load_registries
from lnlab.compile.cost.cost import cost
from lnlab.compile.decisions import Decision, decision_from_json
from lnlab.compile.plan import Measurement, Plan, Run
from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.keys import digest
from lnlab.report.facts import ReportFacts
from lnlab.report.folder import read_folder
from lnlab.report.question import claims_with_choices
from lnlab.report.words.wording import count_noun, format_number
from lnlab.specfile.load import text_states_results
from lnlab.store.store import Store
from lnlab.tables import Results

if TYPE_CHECKING:
    from lnlab.compile.resolve.choices import Registries

LARGEST_SAMPLE = 1.2e13
"""FLOPs of a sample, if it is not a single run: a minute and a half on two cores."""


@dataclass(frozen=True, kw_only=True)
class RecomputedRuns(ComputedAgain):
    """What was computed again.

    Attributes:
        results: the rows of these runs.
        decisions: what was chosen on tuning seeds again, or the choices that the report holds.
        claims: of the spec, resolved.
        seconds: wall-clock time.
    """

    results: Results
    claims: Sequence[Claim]
    decisions: tuple[Decision, ...]
    seconds: float


def recomputation(path: Path, manner: RunOptions, *, every_run: bool) -> VerifiedReport:
    """Compute runs of a locked report again and compare.

    Args:
        path: of the lock.
        manner: how many workers there are, and where progress is shown.
        every_run: whether every run is computed (level 3). Otherwise it is a sample.
    """
    try:
        lock = read_lock(path)
        facts, committed, verdicts = read_folder(lock.folder)
        if text_states_results(facts.spec):
            return _read_again(lock, verdicts)
        again = recompute(lock, facts, manner, every_run=every_run)
        again = replace(again, results=_named_alike(again.results, committed))
    except LabError as error:
        return VerifiedReport(
            path,
            0,
            tuple(
                Issue("differs", problem.where or str(path), f"cannot be computed again: {problem.what}")
                for problem in error.issues
            ),
        )
    known = pl.col("run").is_in(committed.runs["run"].implode())
    if unknown := again.results.runs.filter(~known).height:
        what = f"asks for {count_noun(unknown, 'run')} that its report does not hold: a version or a corpus changed"
        issue = Issue("differs", str(lock.spec), what)
        return VerifiedReport(path, 0, (issue,), runs=again.runs, planned=again.planned)
    # A report keeps the texts that it shows, and those of two machines may differ in many words.
    compared = [
        one for one in compare_numbers(committed, again.results, lock.tables["margins"]) if one.table != "texts"
    ]
    same_class = _machine_class(committed.runs) == _machine_class(again.results.runs)
    differences = []
    for one in compared:
        # On one class of machine every number is the same to the last bit; elsewhere the lock says how far it may move.
        if number := one.unequal if same_class else one.beyond:
            how = "differ on the same class of machine" if same_class else "differ by more than the lock allows"
            by = f", by up to {100 * one.relative:.2g} % of themselves" if one.relative else ""
            total = one.numbers + one.lacking
            what = f"{one.label}: {number:,} of {total:,} numbers computed again {how}{by}; most of all {one.worst}"
            differences.append(Issue("differs", lock.folder.as_posix(), what))
    before = {decision.key: decision for decision in map(decision_from_json, facts.decisions)}
    for decision in again.decisions:
        old = before.get(decision.key)
        if old is None or old.value != decision.value:
            then = "nothing" if old is None else old.value
            what = f"{decision.path}: tuning runs choose {decision.value} for {then}"
            differences.append(Issue("differs", str(lock.path), what))
    exact = not any(one.unequal for one in compared)
    # ``16 of 160 runs computed again in 2 min: 92 numbers, all equal to the last bit``
    numbers = [one for one in compared if one.table != "runs"]
    total, unequal = sum(one.numbers + one.lacking for one in numbers), sum(one.unequal for one in numbers)
    summary = f"{again.runs:,} of {again.planned:,} runs computed again in {format_duration(again.seconds)}"
    if exact:
        summary += f": {total:,} numbers, all equal to the last bit"
    else:
        parts = [f"{one.label} by {one.margins:.2g} of their margin" for one in compared if one.unequal]
        summary += f": {unequal:,} of {total:,} numbers not equal to the last bit, {', '.join(parts)}"
    notes = [summary]
    if not exact and every_run:
        changed = list(_changed_verdicts(again.claims, again.results, verdicts))
        notes += changed or ["on the runs computed again no verdict is another"]
    return VerifiedReport(
        path,
        0,
        differences=tuple(differences),
        notes=tuple(notes),
        runs=again.runs,
        planned=again.planned,
        exact=exact,
    )


def _read_again(lock: Lock, verdicts: Sequence[Verdict]) -> VerifiedReport:
    """Read the files of a table again, and compare their digests and the verdicts with the lock.

    Raises:
        LabError: the spec or a file cannot be read.
    """
    spec = table_spec(lock.spec)
    today = {f"file {name}": sha for name, sha in spec.inputs.items()}
    locked = lock.tables["corpora"]
    names = sorted(today.keys() | locked.keys())
    differences = [
        Issue("differs", name.removeprefix("file "), "is not the file that was locked")
        for name in names
        if today.get(name) != locked.get(name)
    ]
    if not differences:
        differences += [
            Issue("differs", str(lock.spec), f"the claim '{one.claim}' is judged otherwise from its files")
            for one, other in zip(verdicts, spec.verdicts(), strict=True)
            if not equal_verdicts(one, other)
        ]
    return VerifiedReport(lock.path, 0, differences=tuple(differences), read=len(names))


def _machine_class(runs: pl.DataFrame) -> frozenset[tuple[str, ...]]:
    """Processor, its instructions and the version of torch: where they are equal, so is every number."""
    torch = pl.col("versions").str.json_path_match("$.torch")
    return frozenset(runs.select("device", torch).drop_nulls().unique().iter_rows())


def _named_alike(results: Results, committed: Results) -> Results:
    """The results with the names that the report has of these runs.

    With a default that a piece got since, today's plan has other keys of variants, though the runs are the same.
    """
    names = committed.runs.select("run", _variant="variant")

    def renamed(rows: pl.DataFrame) -> pl.DataFrame:
        joined = rows.join(names, on="run", how="left", maintain_order="left")
        return joined.with_columns(variant=pl.coalesce("_variant", "variant")).drop("_variant")

    tables = {name: renamed(rows) if "variant" in rows.columns else rows for name, rows in results.tables.items()}
    axes = committed.axes.join(results.runs.select("run"), on="run", how="semi", maintain_order="left")
    return replace(results, runs=renamed(results.runs), axes=axes, tables=tables)


def _changed_verdicts(claims: Sequence[Claim], results: Results, before: Sequence[Verdict]) -> Iterator[str]:
    """Claims with another verdict on these rows, a sentence each."""
    old = {verdict.claim: verdict for verdict in before}
    for verdict in judge_all([claim for claim in claims if claim["id"] in old], results):
        last = old[verdict.claim]
        if verdict.verdict != last.verdict:
            estimates = f"{format_number(verdict.estimate)} for {format_number(last.estimate)}"
            yield f"{verdict.claim} would be {verdict_label(verdict)} for {verdict_label(last)}: estimate {estimates}"


def recompute(lock: Lock, facts: ReportFacts, manner: RunOptions, *, every_run: bool) -> RecomputedRuns:
    """Compute runs of a report again.

    Args:
        lock: of the report.
        facts: of the report.
        manner: how many workers there are, and where progress is shown.
        every_run: whether all runs are computed, tuning runs included. Otherwise it is a sample, with the choices that
            the report holds.

    Raises:
        LabError: the spec cannot be compiled, a corpus is absent, or a run did not end by itself.
    """
    started = time.monotonic()
    request = Request(lock.spec, lock.profile, facts.overrides)
    known = load_registries(())
    decisions = () if every_run else tuple(decision_from_json(entry) for entry in facts.decisions)
    with TemporaryDirectory() as scratch:
        # An empty store, so that nothing is taken from what was computed before.
        store = Store(Path(scratch))
        # Once a stage: tuning runs choose what the next plan is made of.
        while True:
            plan, _ = compile_request(request, known, decisions)
            if plan.undecided and not every_run:
                what = "asks for choices on tuning seeds that its report does not hold"
                raise LabError(Issue("differs", str(lock.spec), what, "lnlab report, then lnlab lock"))
            chosen = plan if every_run else sample_of_plan(plan, lock.tables["recorded"], known)
            compute_round(store, chosen, store.save_plan(chosen, request.spec), request, known, manner)
            results = store.found(chosen)
            if not results.ended:
                ends = [run for run in unfinished_runs(results) if run["status"] != "diverged"]
                first = f"{ends[0]['run']}: {ends[0]['status'] or 'not run'} {ends[0]['reason'] or ''}".rstrip()
                what = f"{len(ends)} of its runs came to no end of their own; {first}"
                raise LabError(Issue("differs", str(request.spec), what, "try again"))
            if not plan.undecided:
                break
            decisions = (*decisions, *decide_tuning(plan.undecided, results))
        results = replace(results, tables=dict(results.tables), scans={})
    return RecomputedRuns(
        results=results,
        decisions=decisions,
        claims=claims_with_choices(plan.experiment, zip(plan.experiment.claims, plan.claims, strict=True)),
        runs=len(chosen.runs),
        planned=len(plan.runs),
        seconds=time.monotonic() - started,
    )


def sample_of_plan(plan: Plan, salt: str, known: "Registries") -> Plan:
    """The plan of runs that are drawn by lot, variant by variant, until ``LARGEST_SAMPLE`` is spent.

    One run of each variant at most. Which they are follows from the salt, so that no author knows them before the lock
    is written.
    """

    def lot(*parts: object) -> str:
        return digest([salt, *map(str, parts)])

    by_variant: dict[str, list[Run]] = {}
    for run in plan.runs:
        by_variant.setdefault(run.variant, []).append(run)
    drawn = [min(runs, key=lambda run: lot(run.variant, run.seed)) for runs in by_variant.values()]
    chosen: list[Run] = []
    for run in sorted(drawn, key=lambda run: lot(run.variant)):
        if not chosen or flops_of_plan(plan_of_runs(plan, [*chosen, run]), known) <= LARGEST_SAMPLE:
            chosen.append(run)
    return plan_of_runs(plan, chosen)


def flops_of_plan(plan: Plan, known: "Registries") -> float:
    """FLOPs of a plan. A trajectory counts as far as its runs go."""
    total = 0.0
    for unit in plan.trajectories:
        train = {**unit.setting["train"], "steps": unit.steps}
        total += cost({**unit.setting, "train": train}, unit.measurements, known).flops
    return total


def plan_of_runs(plan: Plan, runs: Sequence[Run]) -> Plan:
    """The plan of some runs alone: what several of them need is measured once, on the first that needs it."""
    run_by_key = {run.key: run for run in plan.runs if run in runs}
    needs = tuple(need for need in plan.needs if need[0] in run_by_key)
    steps: dict[str, int] = {}
    measurements: dict[str, dict[str, Measurement]] = {}
    for run in run_by_key.values():
        steps[run.trajectory] = max(run.steps, steps.get(run.trajectory, 0))
        measurements[run.trajectory] = {}
    seen: set[str] = set()
    for run_key, step, probe, key in needs:
        if key not in seen:
            seen.add(key)
            measurements[run_by_key[run_key].trajectory][key] = Measurement(key, step, probe)
    trajectories = tuple(
        replace(unit, steps=steps[unit.key], measurements=tuple(measurements[unit.key].values()))
        for unit in plan.trajectories
        if unit.key in steps
    )
    return replace(plan, runs=tuple(run_by_key.values()), trajectories=trajectories, needs=needs)
