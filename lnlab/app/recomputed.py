"""Levels 2 and 3: runs of a locked report computed again in an empty store, and compared with the committed rows."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl

from lnlab.analyse.tuning.decide import decide_tuning
from lnlab.app.compute import compute_round
from lnlab.app.formats import format_duration
from lnlab.app.missing_work import unfinished_runs
from lnlab.app.request import Request, compile_request
from lnlab.app.rounds.units import RunOptions
from lnlab.app.table_specs import table_spec
from lnlab.claims.claim import Verdict
from lnlab.claims.verdict_text import verdict_label
from lnlab.compile.decisions import Decision, decision_from_json
from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.record.judge_again import equal_verdicts
from lnlab.record.locks.equivalence import compare_results, rows_put_in
from lnlab.record.locks.lock_report import Lock, read_lock
from lnlab.record.locks.subset import possible_ends, sample_of_plan
from lnlab.record.locks.verify import ComputedAgain, VerifiedReport
from lnlab.record.redraw import judge_tables
from lnlab.record.registries import load_registries
from lnlab.report.facts import ReportFacts
from lnlab.report.folder import parse_report, read_folder, save_folder, with_short_keys
from lnlab.report.words.wording import count_noun, format_number
from lnlab.specfile.load import text_states_results
from lnlab.store.store import Store
from lnlab.tables import Results


@dataclass(frozen=True, kw_only=True)
class RecomputedRuns(ComputedAgain):
    """What was computed again.

    Attributes:
        results: the rows of these runs.
        decisions: what was chosen on tuning seeds again, or the choices that the report holds.
        seconds: wall-clock time.
    """

    results: Results
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
        again = recompute(lock, facts, committed, manner, every_run=every_run)
        again = replace(again, results=with_short_keys(again.results))
    except LabError as error:
        return VerifiedReport(
            path,
            0,
            tuple(
                Issue("differs", problem.where or str(path), f"cannot be computed again: {problem.what}")
                for problem in error.issues
            ),
        )
    unknown = again.results.runs.filter(~pl.col("run").is_in(committed.runs["run"].implode()))
    if unknown.height:
        what = (
            f"asks for {count_noun(unknown.height, 'run')} that its report does not hold: a version or a corpus changed"
        )
        return VerifiedReport(
            path, 0, (Issue("differs", str(lock.spec), what),), runs=again.runs, planned=again.planned
        )
    compared = compare_results(committed, again.results, lock.tables["margins"])
    same_class = _machine_class(committed.runs) == _machine_class(again.results.runs)
    differences = []
    for quantity in compared:
        # On one class of machine every number is the same to the last bit; elsewhere the lock says how far it may move.
        if number := quantity.unequal if same_class else quantity.beyond:
            where = (lock.folder / "data" / f"{quantity.table}.parquet").as_posix()
            how = "differ on the same class of machine" if same_class else "differ by more than the lock allows"
            by = f", by up to {100 * quantity.relative:.2g} % of themselves" if quantity.relative else ""
            what = f"{quantity.label}: {number:,} of {quantity.numbers:,} numbers computed again {how}{by}"
            differences.append(Issue("differs", where, f"{what}; most of all {quantity.worst}"))
    before = {decision.key: decision for decision in map(decision_from_json, facts.decisions)}
    for decision in again.decisions:
        old = before.get(decision.key)
        if old is None or old.value != decision.value:
            then = "nothing" if old is None else old.value
            what = f"{decision.path}: tuning runs choose {decision.value} for {then}"
            differences.append(Issue("differs", str(lock.path), what))
    exact = not any(quantity.unequal for quantity in compared)
    # ``16 of 160 runs computed again in 2 min: 92 numbers, all equal to the last bit``
    numbers = [quantity for quantity in compared if quantity.table != "runs"]
    total, unequal = sum(q.numbers for q in numbers), sum(q.unequal for q in numbers)
    cut = f", {again.cut:,} of them in part," if again.cut else ""
    summary = f"{again.runs:,} of {again.planned:,} runs{cut} computed again in {format_duration(again.seconds)}"
    if exact:
        summary += f": {total:,} numbers, all equal to the last bit"
    else:
        parts = [f"{q.label} by {q.margins:.2g} of their margin" for q in compared if q.unequal]
        summary += f": {unequal:,} of {total:,} numbers not equal to the last bit, {', '.join(parts)}"
    notes = [summary]
    if not exact:
        changed = list(_changed_verdicts(lock, facts, rows_put_in(committed, again.results), verdicts))
        notes += changed or ["with the rows computed again in place of the old ones no verdict changes"]
    return VerifiedReport(
        path,
        0,
        differences=tuple(differences),
        notes=tuple(notes),
        runs=again.runs,
        planned=again.planned,
        cut=again.cut,
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


def _changed_verdicts(lock: Lock, facts: ReportFacts, results: Results, before: Sequence[Verdict]) -> Iterator[str]:
    """Claims with another verdict on these rows, a sentence each."""
    with TemporaryDirectory() as scratch:
        folder = Path(scratch, *lock.folder.parts[-2:])
        save_folder(folder, facts, results, before)
        data, _ = judge_tables(folder, folder, lock.spec, load_registries(()))
        _, _, now = parse_report(data.get, folder)
    old = {verdict.claim: verdict for verdict in before}
    for verdict in now:
        if verdict.verdict != old[verdict.claim].verdict:
            estimates = f"{format_number(verdict.estimate)} for {format_number(old[verdict.claim].estimate)}"
            words = f"{verdict_label(verdict)} for {verdict_label(old[verdict.claim])}"
            yield f"{verdict.claim} would be {words}: estimate {estimates}"


def recompute(
    lock: Lock, facts: ReportFacts, committed: Results, manner: RunOptions, *, every_run: bool
) -> RecomputedRuns:
    """Compute runs of a report again.

    Args:
        lock: of the report.
        facts: of the report.
        committed: its rows.
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
            if every_run:
                chosen = plan
            else:
                chosen = sample_of_plan(plan, lock.tables["recorded"], known, possible_ends(plan, committed))
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
    steps = {run.key: run.steps for run in plan.runs}
    cut = sum(run.steps < steps[run.key] for run in chosen.runs)
    return RecomputedRuns(
        results=results,
        decisions=decisions,
        runs=len(chosen.runs),
        planned=len(plan.runs),
        cut=cut,
        seconds=time.monotonic() - started,
    )
