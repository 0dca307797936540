"""Measurements of a spec and of a report: their rows, with what judges their own claims and writes their own page."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from lnlab.app.request import Request, open_store
from lnlab.app.run_summary import RunResult
from lnlab.app.running import failed_runs
from lnlab.app.stored_plans import stored_plan
from lnlab.errors import ReportError, StoreError
from lnlab.issues import Issue
from lnlab.outside.own_model.measured import Measurements
from lnlab.report.drawing import WHOLE_REPORT, Drawing

if TYPE_CHECKING:
    from lnlab.claims.claim import Verdict
    from lnlab.report.facts import ReportFacts
    from lnlab.report.write import Report
    from lnlab.store.plans import StoredPlan
    from lnlab.store.store import Store
    from lnlab.tables import Results


@dataclass(frozen=True)
class SpecRuns:
    """What a store has of a spec.

    Attributes:
        store: the store.
        stored: the plan.
        request: the question.
        judged: the verdicts on its claims, where they are known already.
    """

    store: "Store"
    stored: "StoredPlan"
    request: Request
    judged: "Sequence[Verdict] | None" = None

    def measurements(self) -> Measurements:
        """The rows that the store has of it."""
        if self.request.plugins:
            from lnlab.committed.registries import load_registries

            load_registries(self.request.plugins)
        return Measurements(self.store.results(self.stored.digest), probes_of(self.stored), origin=self)

    def verdicts(self) -> "Sequence[Verdict]":
        """The verdicts on its claims, in order.

        Raises:
            LabError: a claim is wrong, or plugins are missing.
        """
        if self.judged is not None:
            return self.judged
        from lnlab.app.judging import plan_results, plan_verdicts

        results = plan_results(self.store, self.stored)
        return plan_verdicts(self.store, self.stored, results, self.request.plugins)

    def write(self, out: Path | None, *, drawing: Drawing = WHOLE_REPORT, replace: bool = False) -> "Report":
        """Its page, by default in ``reports/<spec>/<profile>``.

        Raises:
            ReportError: nothing is chosen yet, plugins are missing, or the folder cannot be written.
        """
        from lnlab.app.reporting import plan_report_folder, write_plan_report

        return write_plan_report(
            self.store,
            self.stored,
            out or plan_report_folder(self.stored),
            self.request.plugins,
            self.request.spec if self.request.text is None else None,
            drawing=drawing,
            replace=replace,
        )


@dataclass(frozen=True)
class ReportedRuns:
    """What a report has kept."""

    folder: Path
    facts: "ReportFacts"
    results: "Results"
    judged: "Sequence[Verdict]"

    def measurements(self) -> Measurements:
        """The rows that its page uses."""
        return Measurements(self.results, [dict(probe) for probe in self.facts.probes], origin=self)

    def verdicts(self) -> "Sequence[Verdict]":
        """The verdicts on its page."""
        return self.judged

    def write(self, out: Path | None) -> "Report":
        """Its page again, in another folder.

        Raises:
            ReportError: no folder is named, or it cannot be written.
        """
        if out is None:
            what = "is a report already"
            raise ReportError(Issue("missing", str(self.folder), what, "name another folder: out='page'"))
        from lnlab.app.judging import claims_as_judged
        from lnlab.committed.registries import load_registries
        from lnlab.report.write import write_report

        claims = list(claims_as_judged(self.facts, load_registries(())).values())
        return write_report(out, self.facts, self.results, self.judged, claims=claims)


@dataclass(frozen=True, repr=False)
class Run(Measurements):
    """The measurements of a spec that was run now, and how the run went.

    Attributes:
        outcome: the request, its summary, and how its runs ended.
    """

    outcome: RunResult = field(kw_only=True)

    @property
    def plan(self) -> str:
        """The digest of the plan."""
        return self.outcome.plan

    @property
    def computed(self) -> int:
        """How many units ended in this run."""
        return self.outcome.computed

    @property
    def reused(self) -> int:
        """How many units of the plan the store had before."""
        return self.outcome.reused

    @property
    def failures(self) -> list[dict[str, object]]:
        """Every run that ended other than finished: ``run``, ``key``, ``status`` and ``reason``."""
        return self.outcome.failures

    def __repr__(self) -> str:
        failed = failed_runs(self.failures)
        told = f"; {len(failed):,} of {self.results.runs.height:,} runs failed" if failed else ""
        return f"Run({super().__repr__()}{told})"


def run_of(outcome: RunResult, store: "Store") -> Run:
    """The measurements of a run, judged."""
    stored = outcome.summary.stored
    origin = SpecRuns(store, stored, outcome.request, outcome.verdicts)
    run = Run(outcome.results, probes_of(stored), origin=origin, outcome=outcome)
    _ = run.verdicts  # a notebook shows them with the run
    return run


def probes_of(stored: "StoredPlan") -> list[dict[str, object]]:
    """The probes of a plan, as its report states them."""
    return list(((stored.facts or {}).get("report") or {}).get("probes") or ())


def runs_of_request(request: Request, folder: Path | None) -> SpecRuns:
    """What the store in a folder has of a request. Of the same text, no compiler is asked.

    Raises:
        LabError: the spec cannot be read, or was never run in this store.
    """
    from lnlab.store.plans import find_plan

    store = open_store(folder, request.spec)
    if not request.overrides:  # the same text is found without the compiler, and so without pydantic
        with suppress(StoreError):
            found = find_plan(store.root, request.spec, request.profile, content=request.content)
            return SpecRuns(store, found, request)
    return SpecRuns(store, stored_plan(store, request), request)
