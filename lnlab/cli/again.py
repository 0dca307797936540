"""``lnlab report --from``: a report made again from its own rows, its spec judged as it stands today."""

from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import polars as pl

from lnlab import __version__
from lnlab.app.reporting import refuse_without_plugins
from lnlab.cli.codes import FAILED
from lnlab.cli.drawn import DrawingOptions, print_report
from lnlab.cli.terminal import print_json
from lnlab.committed.asked_today import asked_today
from lnlab.committed.committed_report import CommittedReport
from lnlab.committed.judged_on_rows import judge_report
from lnlab.committed.registries import load_registries
from lnlab.errors import LabError, ReportError
from lnlab.issues import Issue
from lnlab.report.contents import EXPERIMENT_FILE
from lnlab.report.facts import ReportFacts, facts_text
from lnlab.report.folder import store_files
from lnlab.report.same_question import find_spec, refuse_other_question, with_origin
from lnlab.report.write import write_drawn
from lnlab.specfile.load import text_states_results


@dataclass(frozen=True)
class RedrawRequest:
    """The reports that are to be made again, and how.

    Attributes:
        paths: folders of reports. A single one may be followed by its spec.
        target: the folder to write to. None means the same folder.
        plugins: files that register pieces.
        replace: whether the target may hold the report of another question.
    """

    paths: tuple[Path, ...]
    target: Path | None
    plugins: tuple[Path, ...] = ()
    replace: bool = False

    @property
    def folders(self) -> tuple[Path, ...]:
        """The reports, each after those that it cites, as it shows their new verdicts."""
        folders = self.paths[:1] + tuple(path for path in self.paths[1:] if not path.is_file())
        by_place = {folder.resolve().parts: folder for folder in folders}
        cited: dict[Path, list[Path]] = {folder: [] for folder in folders}
        for folder in folders:
            try:
                # Read here, as polars opens no path of another encoding.
                content = (folder / "data" / "evidence.parquet").read_bytes()
                evidence = pl.read_parquet(content, columns=["spec", "profile"])
            except (OSError, pl.exceptions.PolarsError):
                continue  # it cites nothing, or cannot be read, which is told when it is drawn
            for spec, profile in evidence.unique(maintain_order=True).iter_rows():
                places = (parts for parts in by_place if parts[-2:] == (spec, profile))
                cited[folder] += (by_place[parts] for parts in places if by_place[parts] != folder)
        try:
            order = {folder: place for place, folder in enumerate(TopologicalSorter(cited).static_order())}
        except CycleError:
            return folders  # of two that cite each other, neither can come first
        return tuple(sorted(folders, key=order.__getitem__))

    @property
    def spec(self) -> Path | None:
        """The spec, if one is named.

        Raises:
            ReportError: several are named, or one beside several reports.
        """
        specs = [path for path in self.paths[1:] if path.is_file()]
        if specs and (len(self.paths) > 2):
            what = f"{specs[0]} would be the spec of several reports"
            raise ReportError(Issue("ambiguous", "lnlab report --from", what, "name one report with one spec"))
        return specs[0] if specs else None


def redraw(request: RedrawRequest, drawing: DrawingOptions) -> int:
    """Make every report again, one line each, and return the exit code. A failure does not stop the other reports.

    Raises:
        LabError: what is wrong with the command, or, in the end, with each report that could not be made.
    """
    spec = request.spec  # one of several reports is refused once, before any is made
    several = len(request.folders) > 1
    if several and request.target is not None:
        what = f"{len(request.folders)} reports would be written into {request.target}"
        raise ReportError(Issue("wrong-option", "lnlab report --from", what, "leave --out away, or name one report"))
    problems: list[Issue] = []
    files: list[Path] = []
    unmade = False
    for folder in request.folders:
        into = request.target or folder
        try:
            before = CommittedReport(folder, store_files(folder))
            facts = before.parsed[0]
            refuse_without_plugins(facts.plugins, request.plugins)
            known = load_registries(request.plugins)
            # Measurements from Python have no spec, and a table is judged where its files are: lnlab report SPEC.
            if facts.path and not text_states_results(facts.spec):
                asked = asked_today(before, spec, known)
                asked = replace(asked, facts=replace(asked.facts, version=__version__))
                asked = replace(asked, facts=_placed(asked.facts, asked.file, folder, request))
                data, note = judge_report(before, asked, known)
                facts = asked.facts
            else:
                facts = _placed(facts, find_spec(folder, facts), folder, request)
                data, note = {**before.contents, EXPERIMENT_FILE: facts_text(facts).encode()}, ""
            report = write_drawn(into, data, drawing)
            print_report(report, into, facts.path, drawing, note)
        except LabError as error:
            problems += error.issues
            continue
        files += report.files
        unmade = unmade or bool(report.failed)
    if drawing.as_json:
        print_json([file.as_posix() for file in files])
    if problems:
        raise LabError(*problems)
    return FAILED if unmade else 0


def _placed(facts: ReportFacts, spec: Path | None, folder: Path, request: RedrawRequest) -> ReportFacts:
    """The facts of a report where it will stand: from there its ``origin`` leads to the spec.

    Raises:
        ReportError: another folder than its own holds the report of another question.
    """
    into = request.target or folder
    is_elsewhere = into.resolve() != folder.resolve()
    if is_elsewhere and not request.replace:
        refuse_other_question(into, facts, spec)
    # A report that stays where it is keeps the way to a spec that is gone.
    return with_origin(into, facts, spec) if is_elsewhere or spec is not None else facts
