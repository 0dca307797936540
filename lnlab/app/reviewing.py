"""What a referee would ask of a spec: of its report, of its runs in a store, or of its plan. Nothing is computed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lnlab.app.python_request import Folder, OverrideValues, SpecSource, request_of
from lnlab.app.request import Request, compile_request, judged_plan, open_store, read_document
from lnlab.app.stored_plans import stored_plan
from lnlab.committed.registries import load_registries
from lnlab.errors import LabError, ReportError, StoreError
from lnlab.issues import Issue

if TYPE_CHECKING:
    from lnlab.claims.claim import Verdict
    from lnlab.compile.resolve.choices import Registries
    from lnlab.referee.rule import ReviewLine
    from lnlab.store.plans import StoredPlan
    from lnlab.store.store import Store
    from lnlab.tables import Results


@dataclass(frozen=True)
class Review:
    """What a referee would ask.

    Attributes:
        of: what was read: a report, a store, or the plan alone.
        lines: the most important first.
    """

    of: str
    lines: "tuple[ReviewLine, ...]"

    @property
    def open(self) -> "tuple[ReviewLine, ...]":
        """The lines that ask for something and have no answer yet."""
        return tuple(line for line in self.lines if line.is_open)

    def __str__(self) -> str:
        """A line for each: its rule, its claims and its sentence."""
        return "\n".join(f"{line.rule} {', '.join(line.claims) or 'page'}: {line.says}" for line in self.lines)


def review(
    spec: SpecSource,
    *,
    profile: str | None = None,
    overrides: OverrideValues = (),
    plugins: Sequence[str | Path] = (),
    store: Folder = None,
    report: Folder = None,
) -> Review:
    """What a referee would ask of a spec. Nothing is computed.

    Example: ``[line.says for line in lnlab.review("first.yaml").open]``

    Args:
        spec: a path, a dict, or an ``lnlab.Spec``.
        profile: one of its profiles.
        overrides: as for ``check``.
        plugins: Python files that register pieces.
        store: a folder. The default is ``LNLAB_STORE``, else ``.lnlab`` in the working folder.
        report: the folder of its report. None means its runs in the store, else ``reports/<spec>/<profile>``, else what
            its plan knows.

    Raises:
        LabError: the spec is wrong, or the report cannot be read.
    """
    request = request_of(spec, profile, overrides, plugins)
    folder = None if store is None else Path(store)
    return review_request(request, None if report is None else Path(report), folder)


def review_request(request: Request, report: Path | None, store: Path | None) -> Review:
    """What a referee would ask of a request, see ``review``.

    Raises:
        LabError: as ``review``.
    """
    from lnlab.report.contents import EXPERIMENT_FILE
    from lnlab.report.write import report_folder

    known = load_registries(request.plugins)
    if report is not None:
        return Review(str(report), review_of_report(report, request, known))
    if (stored := _judged_plan(opened := open_store(store, request.spec), request)) is not None:
        return Review(f"store {opened.root}", review_of_store(opened, stored, request))
    committed = report_folder(Path("reports"), request.spec.stem, request.profile)
    if not request.overrides and (committed / EXPERIMENT_FILE).is_file():
        return Review(str(committed), review_of_report(committed, request, known))
    return Review("the plan alone, as there are no runs of it", review_of_request(request, known))


def review_of_report(folder: Path, request: Request | None, known: "Registries") -> "tuple[ReviewLine, ...]":
    """The lines on a report. Where the spec of the request has changed since, its claims are judged on these rows.

    Raises:
        LabError: the report cannot be read, or the spec asks for what its rows do not have.
    """
    from lnlab.app.judging import claims_as_judged
    from lnlab.committed.asked_today import asked_today
    from lnlab.committed.committed_report import CommittedReport
    from lnlab.committed.judged_on_rows import judge_report
    from lnlab.report.folder import parse_report, store_files
    from lnlab.report.referee import review_of_facts

    report = CommittedReport(folder, store_files(folder))
    facts, results, verdicts = report.parsed
    if request is not None and read_document(request)[0].text != facts.spec:
        data, _ = judge_report(report, asked_today(report, request.spec, known), known)
        facts, results, verdicts = parse_report(data, folder)
    claims = list(claims_as_judged(facts, known).values())
    return tuple(review_of_facts(facts, results, verdicts, claims, folder))


def review_of_store(store: "Store", stored: "StoredPlan", request: Request) -> "tuple[ReviewLine, ...]":
    """The lines on what a store holds of a plan.

    Raises:
        LabError: a claim is wrong, or plugins are missing.
    """
    from lnlab.app.judging import plan_results, plan_verdicts

    results = plan_results(store, stored)
    return review_of_run(stored, results, plan_verdicts(store, stored, results, request.plugins))


def review_of_run(stored: "StoredPlan", results: "Results", verdicts: "Sequence[Verdict]") -> "tuple[ReviewLine, ...]":
    """The lines on a run whose claims are judged."""
    from lnlab.app.reporting import plan_report_folder
    from lnlab.report.facts import facts_from_json
    from lnlab.report.referee import review_of_facts

    facts = facts_from_json(stored.facts["report"], stored.spec)
    return tuple(review_of_facts(facts, results, verdicts, stored.facts["claims"], plan_report_folder(stored)))


def review_of_request(request: Request, known: "Registries") -> "tuple[ReviewLine, ...]":
    """The lines on a spec before its runs.

    Raises:
        LabError: every problem of the spec at once.
    """
    from lnlab.app.planning.review_notes import review_of_plan

    plan, _ = compile_request(request, known, assume_data=True)
    return tuple(review_of_plan(judged_plan(request, known, plan, assume_data=True), plan.undecided))


def reviews_of_reports(root: Path) -> Iterator[tuple[Path, Review]]:
    """The review of every report below a folder, each as it is read.

    Raises:
        ReportError: there is none.
    """
    from lnlab.report.contents import EXPERIMENT_FILE

    folders = sorted(path.parent.parent for path in root.glob(f"**/{EXPERIMENT_FILE}"))
    if not folders:
        raise ReportError(Issue("not-found", str(root), "holds no report", "name a folder of reports, or write one"))
    known = load_registries(())
    for folder in folders:
        yield folder, Review(str(folder), review_of_report(folder, None, known))


def _judged_plan(store: "Store", request: Request) -> "StoredPlan | None":
    """The plan of a request whose judged runs the store has, or None."""
    if not store.root.is_dir():
        return None
    try:
        stored = stored_plan(store, request)
    except StoreError:
        return None
    except LabError as error:
        if {issue.code for issue in error.issues} <= {"not-run", "differs"}:
            return None
        raise
    return None if stored.undecided else stored
