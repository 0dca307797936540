"""Runs of a locked report computed again, from its spec and in an empty store."""

import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from lnlab.analyse.tuning.decide import decide_tuning
from lnlab.app.compute import compute_round
from lnlab.app.locks.lock_report import Lock
from lnlab.app.locks.subset import possible_ends, sample_of_plan
from lnlab.app.missing_work import unfinished_runs
from lnlab.app.request import Request, compile_request, load_registries
from lnlab.app.rounds.units import RunOptions
from lnlab.compile.decisions import Decision, decision_from_json
from lnlab.compile.plan import Plan
from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.report.facts import ReportFacts
from lnlab.store.store import Store
from lnlab.tables import Results

if TYPE_CHECKING:
    from lnlab.app.request import Registries


@dataclass(frozen=True)
class RecomputedRuns:
    """What was computed again.

    Attributes:
        results: the rows of these runs.
        decisions: what was chosen on tuning seeds again, or the choices that the report holds.
        runs: how many runs were computed again.
        planned: how many runs the spec asks for.
        cut: how many of the runs were computed up to an earlier update than their last.
        seconds: wall-clock time.
    """

    results: Results
    decisions: tuple[Decision, ...]
    runs: int
    planned: int
    cut: int
    seconds: float


def recompute(
    lock: Lock, facts: ReportFacts, committed: Results, manner: RunOptions, *, every_run: bool
) -> RecomputedRuns:
    """Compute runs of a report again.

    Args:
        lock: of the report.
        facts: of the report.
        committed: its rows.
        manner: how many workers there are, and where progress is shown.
        every_run: all runs, tuning runs too; else a sample, with the choices that the report holds.

    Raises:
        LabError: the spec cannot be compiled, a corpus is absent, or a run came to no end of its own.
    """
    started = time.monotonic()
    request = Request(lock.spec, lock.profile, facts.overrides)
    known = load_registries(())
    decisions = () if every_run else tuple(decision_from_json(entry) for entry in facts.decisions)
    with TemporaryDirectory() as scratch:
        store = Store(Path(scratch))
        while True:
            plan, _ = compile_request(request, known, decisions)
            if plan.undecided and not every_run:
                what = "asks for choices on tuning seeds that its report does not hold"
                raise LabError(Issue("differs", str(lock.spec), what, "lnlab report, then lnlab lock"))
            if every_run:
                chosen = plan
            else:
                chosen = sample_of_plan(plan, lock.tables["recorded"], known, possible_ends(plan, committed))
            results = _computed(chosen, store, request, known, manner)
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


def _computed(plan: Plan, store: Store, request: Request, known: "Registries", manner: RunOptions) -> Results:
    """The rows of a plan, all of whose runs came to an end of their own."""
    compute_round(store, plan, store.save_plan(plan, request.spec), request, known, manner)
    results = store.found(plan)
    if not results.ended:
        ends = [run for run in unfinished_runs(results) if run["status"] != "diverged"]
        what = (
            f"{len(ends)} of its runs came to no end of their own; {ends[0]['run']}: {ends[0]['status'] or 'not run'}"
        )
        raise LabError(Issue("differs", str(request.spec), f"{what} {ends[0]['reason'] or ''}".rstrip(), "try again"))
    return results
