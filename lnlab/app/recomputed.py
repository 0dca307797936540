"""Levels 2 and 3 of ``lnlab verify``: ``lnlab run`` in an empty store, and the comparison of ``lnlab diff``."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from lnlab.app.compute import compute_missing
from lnlab.app.formats import format_duration
from lnlab.app.judging import plan_verdicts
from lnlab.app.missing_work import unfinished_runs
from lnlab.app.request import Request
from lnlab.app.run_options import RunOptions
from lnlab.app.table_specs import table_spec
from lnlab.claims.claim import Verdict
from lnlab.claims.look_book import LookBook
from lnlab.committed.comparison.differences import verdict_text
from lnlab.committed.comparison.numbers import compare_numbers
from lnlab.committed.judging import equal_verdicts
from lnlab.committed.locks.lock_report import LOCK_SUFFIX, folder_of, read_lock
from lnlab.committed.locks.verify import VerifiedReport
from lnlab.compile.cost.cost import cost
from lnlab.compile.decisions import decision_from_json
from lnlab.compile.plan import Measurement, Plan, Run
from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.keys import digest, digest_bytes
from lnlab.report.contents import EXPERIMENT_FILE
from lnlab.report.facts import ReportFacts
from lnlab.report.folder import packs_in, parse_report, store_files
from lnlab.report.same_question import find_spec
from lnlab.report.thinning import thinned_results
from lnlab.report.words.wording import count_noun
from lnlab.specfile.load import text_states_results
from lnlab.store.store import Store
from lnlab.tables import Results

if TYPE_CHECKING:
    from lnlab.compile.resolve.choices import Registries

LARGEST_SAMPLE = 1.2e13
"""FLOPs of a sample, if it is not a single run: a minute and a half on two cores."""


def recomputation(path: Path, options: RunOptions, *, every_run: bool) -> VerifiedReport:
    """Compute runs of a report again in an empty store, and compare.

    Args:
        path: of its lock, or its folder.
        options: how many workers there are, and where progress is shown.
        every_run: whether every run is computed (level 3). Otherwise it is a sample.
    """
    try:
        folder = folder_of(path)
        files = store_files(folder)
        facts, committed, verdicts = parse_report(files, folder)
        spec = read_lock(path).spec if path.suffix == LOCK_SUFFIX else find_spec(folder, facts) or Path(facts.path)
        if text_states_results(facts.spec):
            return _read_again(path, spec, facts, verdicts)
        # Which runs are drawn follows from the rows, so that nobody knows it before they are there.
        salt = None if every_run else digest([digest_bytes(content) for content in packs_in(files).values()])
        return _computed_again(path, spec, facts, committed, verdicts, options, salt)
    except LabError as error:
        return VerifiedReport(
            path,
            differences=tuple(
                problem
                if problem.code == "differs"
                else Issue("differs", problem.where or str(path), f"cannot be computed again: {problem.what}")
                for problem in error.issues
            ),
        )


def _computed_again(
    path: Path,
    spec: Path,
    facts: ReportFacts,
    committed: Results,
    verdicts: Sequence[Verdict],
    options: RunOptions,
    salt: str | None,
) -> VerifiedReport:
    """Compute a sample of the runs, or all if ``salt`` is None."""
    started = time.monotonic()
    planned = 0

    def part(plan: Plan, known: "Registries") -> Plan:
        nonlocal planned
        planned = len(plan.runs)
        if not plan.undecided:
            _require_held(plan, facts, committed, spec)
        elif salt is not None:
            what = "asks for choices on tuning seeds that its report does not hold"
            raise LabError(Issue("differs", str(spec), what, "lnlab report, then lnlab lock"))
        return plan if salt is None else sample_of_plan(plan, salt, known)

    decisions = () if salt is None else tuple(map(decision_from_json, facts.decisions))
    with TemporaryDirectory() as scratch:
        store = Store(Path(scratch))
        request = Request(spec, facts.profile, facts.overrides, text=facts.spec)
        done = compute_missing(store, request, options, decisions, part)
        if done.interrupted:
            raise KeyboardInterrupt
        results = store.results(done.stored.digest)
        results = replace(results, tables=dict(results.tables), scans={}, evidence=committed.evidence)
        if done.stored.undecided:
            first = unfinished_runs(results)[0]
            what = f"its tuning runs choose nothing: {first['run']}: {first['status'] or 'not run'}"
            raise LabError(Issue("differs", str(spec), what, "try again"))
        if salt is None:
            results = thinned_results(facts, results, verdicts, done.stored.facts["claims"])
        compared = list(compare_numbers(committed, results))
        changed: list[str] = []
        if salt is None and any(one.unequal for one in compared):
            anew = plan_verdicts(store, done.stored, results, looks=LookBook.from_json(facts.looks))
            changed = list(_other_verdicts(verdicts, anew)) or ["on these rows no verdict is another"]
    differences = []
    if tuple(done.stored.facts["report"].get("transfers", ())) != tuple(facts.transfers):
        what = "says otherwise than the spec what its runs took over from others"
        differences.append(Issue("differs", (folder_of(path) / EXPERIMENT_FILE).as_posix(), what))
    if (unmatched := results.runs.height - compared[0].numbers) > 0:
        what = f"{count_noun(unmatched, 'run')} computed again have other axes or seeds than those of the report"
        differences.append(Issue("differs", folder_of(path).as_posix(), what))
    for one in compared:
        if number := one.beyond + one.concealed:
            of = "runs ended otherwise" if one.table == "runs" else "numbers differ by more than their margin"
            by = f", by up to {100 * one.relative:.2g} % of themselves" if 0 < one.relative < float("inf") else ""
            absent = f", {one.concealed:,} of them absent from the report" if one.concealed else ""
            most = f"; most of all {one.worst}" if one.worst else ""
            what = f"{one.label}: {number:,} of {one.numbers + one.lacking + one.concealed:,} {of}{absent}{by}{most}"
            differences.append(Issue("differs", folder_of(path).as_posix(), what))
    numbers = [one for one in compared if one.table != "runs"]
    total, unequal = sum(one.numbers + one.lacking for one in numbers), sum(one.unequal for one in numbers)
    # ``16 of 160 runs computed again in 2 min: 92 numbers, all equal to the last bit``
    elapsed = format_duration(time.monotonic() - started)
    summary = f"{results.runs.height:,} of {planned:,} runs computed again in {elapsed}: "
    exact = not any(one.unequal for one in compared)
    if exact:
        summary += f"{total:,} numbers, all equal to the last bit"
    else:
        parts = [f"{one.label} by {one.margins:.2g} of their margin" for one in compared if one.unequal]
        summary += f"{unequal:,} of {total:,} numbers not equal to the last bit, {', '.join(parts)}"
    if cut := sum(one.more - one.concealed for one in compared):
        summary += f"; {cut:,} more are not in the report, as lnlab 0.1 kept what pages showed"
    return VerifiedReport(
        path,
        differences=tuple(differences),
        notes=(summary, *changed),
        runs=results.runs.height,
        planned=planned,
        exact=exact,
    )


def _require_held(plan: Plan, facts: ReportFacts, committed: Results, spec: Path) -> None:
    """Refuse to compute runs that a report does not hold, or that other values than its own are chosen for.

    Raises:
        LabError: something is chosen otherwise, or a run is absent.
    """
    before = {decision.key: decision.value for decision in map(decision_from_json, facts.decisions)}
    issues = [
        Issue("differs", str(spec), f"{one.path}: tuning runs choose {one.value} for {before.get(one.key, 'nothing')}")
        for one in plan.decisions
        if before.get(one.key) != one.value
    ]
    if unknown := {run.key for run in plan.runs} - set(committed.runs["run"]):
        what = (
            f"asks for {count_noun(len(unknown), 'run')} that its report does not hold: a version or a corpus changed"
        )
        issues.append(Issue("differs", str(spec), f"{what}, or they were dropped"))
    if issues:
        raise LabError(*issues)


def _other_verdicts(before: Sequence[Verdict], anew: Sequence[Verdict]) -> Iterator[str]:
    """Claims with another verdict, a sentence each."""
    for one, other in zip(before, anew, strict=True):
        if one.verdict != other.verdict:
            yield f"{one.claim} would be {verdict_text(other)} for {verdict_text(one)}"


def _read_again(path: Path, spec: Path, facts: ReportFacts, verdicts: Sequence[Verdict]) -> VerifiedReport:
    """Read the files of a table again, and hold them and the verdicts against the report.

    Raises:
        LabError: the spec or a file cannot be read.
    """
    table = table_spec(spec, facts.spec)
    differences = []
    if table.digest != facts.digest:
        what = f"its files are not those that the report was made of: {', '.join(table.inputs)}"
        differences.append(Issue("differs", str(spec), what))
    else:
        differences += [
            Issue("differs", str(spec), f"the claim '{one.claim}' is judged otherwise from its files")
            for one, other in zip(verdicts, table.verdicts(), strict=True)
            if not equal_verdicts(one, other)
        ]
    return VerifiedReport(path, differences=tuple(differences), read=len(table.inputs))


def sample_of_plan(plan: Plan, salt: str, known: "Registries") -> Plan:
    """The plan of runs that are drawn by lot, variant by variant, until ``LARGEST_SAMPLE`` is spent.

    One run of each variant at most. Which they are follows from the salt.
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
