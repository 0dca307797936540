"""``lnlab report --from``: a report made again from its own tables, its spec judged as it stands today."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lnlab.app.evidence import renewed_evidence
from lnlab.app.judging import locate_claim_problem
from lnlab.app.plan_facts import claims_with_choices, question_fields
from lnlab.app.request import load_registries
from lnlab.cli.codes import FAILED
from lnlab.cli.drawn import DrawingOptions, print_report
from lnlab.cli.options import refuse_without_plugins
from lnlab.cli.terminal import format_count, print_json
from lnlab.compile.decisions import decision_from_json as decision
from lnlab.compile.digests import plan_identity
from lnlab.compile.front import compile_front, setting_namer, sound_claims
from lnlab.errors import LabError, Problem, ReportError
from lnlab.keys import Json, digest
from lnlab.report.committed.held_rows import is_drawable, missing_rows_sentence, section_selections
from lnlab.report.committed.judge_again import JudgedReport, judge_again
from lnlab.report.committed.matching import match_runs
from lnlab.report.facts import ReportFacts
from lnlab.report.folder import read_folder, save_folder
from lnlab.report.page.html import template_folders
from lnlab.report.write import render_report
from lnlab.specfile.load import load_spec, parse_leniently, parse_spec, read_spec_text

if TYPE_CHECKING:
    from lnlab.app.request import Registries
    from lnlab.claims.claim import Claim
    from lnlab.report.write import Report
    from lnlab.specfile.load import SpecDocument


@dataclass(frozen=True)
class RedrawRequest:
    """The reports that are to be made again, and how.

    Attributes:
        paths: folders of reports; a single one may be followed by its spec.
        target: the folder to write to; None: the same folder.
        plugins: files that register pieces.
        as_judged: whether the spec and the verdicts stay unchanged.
    """

    paths: tuple[Path, ...]
    target: Path | None
    plugins: tuple[Path, ...] = ()
    as_judged: bool = False

    @property
    def folders(self) -> tuple[Path, ...]:
        """The reports; those that read others come after them."""
        folders = self.paths[:1] + tuple(path for path in self.paths[1:] if not path.is_file())
        return tuple(sorted(folders, key=lambda folder: (folder / "data" / "evidence.parquet").is_file()))

    @property
    def spec(self) -> Path | None:
        """The spec, if one is named.

        Raises:
            ReportError: several are named, or one beside several reports, or with ``as_judged``.
        """
        specs = [path for path in self.paths[1:] if path.is_file()]
        if specs and (len(self.paths) > 2 or self.as_judged):
            what = f"{specs[0]} would be the spec of {'no report' if self.as_judged else 'several reports'}"
            raise ReportError(Problem("lnlab report --from", what, "name one report with one spec"))
        return specs[0] if specs else None


def redraw(request: RedrawRequest, drawing: DrawingOptions) -> int:
    """Make every report again, one line each, and return the exit code. A failure does not stop the other reports.

    Raises:
        LabError: what is wrong with the command, or, in the end, with each report that could not be made.
    """
    spec, several = request.spec, len(request.folders) > 1
    if several and request.target is not None:
        what = f"{len(request.folders)} reports would be written into {request.target}"
        raise ReportError(Problem("lnlab report --from", what, "leave --out away, or name one report"))
    problems: list[Problem] = []
    files: list[Path] = []
    unmade = False
    for folder in request.folders:
        try:
            report = _redraw_one(folder, spec, request, drawing)
        except LabError as error:
            problems += error.problems
            continue
        files += report.files
        unmade = unmade or bool(report.failed)
    if drawing.as_json:
        print_json([file.as_posix() for file in files])
    if problems:
        raise LabError(*problems)
    return FAILED if unmade else 0


def _redraw_one(folder: Path, spec: Path | None, request: RedrawRequest, drawing: DrawingOptions) -> "Report":
    """One report made again."""
    into = request.target or folder
    facts, results, verdicts = read_folder(folder)
    refuse_without_plugins(facts.plugins, request.plugins)
    template_folders(drawing.templates)
    known = load_registries(request.plugins)
    if request.as_judged:
        save_folder(into, facts, results, verdicts)
        note, path = "", facts.path
    else:
        judged = judge_tables(folder, into, spec, known)
        note, path = judged.summary, judged.path
    report = render_report(into, **drawing.options)
    print_report(report, into, path, drawing, note)
    return report


@dataclass(frozen=True)
class RejudgeSummary:
    """The summary of judging a report again.

    Attributes:
        path: the spec, as the page names it.
        judged: how many claims were judged on the tables of the report.
        carried: how many unchanged claims keep their verdict, as not all of their rows are in the tables.
        absent: how many runs the spec asks for that the tables lack.
    """

    path: str
    judged: int
    carried: int
    absent: int

    @property
    def summary(self) -> str:
        """The summary in words, for the end of a line."""
        parts = [f"{self.path}: {format_count(self.judged, 'claim')} judged"]
        parts += [f"{self.carried} unchanged, whose rows are not in the tables"] if self.carried else []
        parts += [f"{format_count(self.absent, 'run')} not in the tables"] if self.absent else []
        return f"; {', '.join(parts)}"


def judge_tables(folder: Path, into: Path, spec: Path | None, known: "Registries") -> RejudgeSummary:
    """Judge the claims of a spec on the tables of a report, and write tables, verdicts and spec into a folder.

    Args:
        folder: the report.
        into: where the tables are written; the same folder, or another.
        spec: its path; None: the file that the report names, or else the text in the report.
        known: the registries of both wings.

    Raises:
        SpecError: every problem of the spec.
        ReportError: the report cannot be read or written, or would lose runs that the spec does not ask for.
        LabError: claims that no rows could answer, or something is chosen that these runs did not decide.
    """
    facts, results, verdicts = read_folder(folder)
    path, document = _document(folder, facts, spec)
    decisions = [decision(entry) for entry in facts.decisions]
    front = compile_front(document, known, profile=facts.profile, overrides=facts.overrides, decisions=decisions)
    matched = match_runs(results, front.settings, front.experiment.seeds, setting_namer(known))
    if matched.dropped and into.resolve() == folder.resolve():
        what = f"{path} does not ask for {matched.dropped} of its {results.runs.height} runs, which would be lost"
        raise ReportError(Problem(str(folder), what, "write elsewhere with --out"))
    before = JudgedReport(
        results,
        claims=_claims_before(facts, known),
        verdicts={verdict.claim: verdict for verdict in verdicts},
        kept_rows=facts.kept,
    )
    claims = claims_with_choices(zip(front.experiment.claims, front.claims, strict=True))
    evidence = renewed_evidence(claims, folder, facts.profile, results.evidence)
    matched = replace(matched, results=replace(matched.results, evidence=evidence))
    judged = judge_again(claims, matched, before, lambda problem: locate_claim_problem(problem, document, claims))
    fields = question_fields(front.experiment, front.sections, known)
    fields["sections"] = tuple(_with_absence(section, facts.kept) for section in fields["sections"])
    new = replace(facts, **fields, **_text_fields(facts, document, path, results.runs["run"]))
    save_folder(into, new, matched.results, judged.verdicts)
    return RejudgeSummary(
        path, len(judged.verdicts) - len(judged.carried), carried=len(judged.carried), absent=len(matched.absent)
    )


def _document(folder: Path, facts: ReportFacts, spec: Path | None) -> "tuple[str, SpecDocument]":
    """The path of the spec as the page names it, and the spec."""
    if spec is not None:
        return spec.as_posix(), load_spec(spec)
    for place in (Path(), *folder.resolve().parents):
        if (place / facts.path).is_file():
            return facts.path, parse_spec(read_spec_text(place / facts.path), place / facts.path)
    return facts.path, parse_spec(facts.spec, Path(facts.path))


def _claims_before(facts: ReportFacts, known: "Registries") -> "Mapping[str, Claim]":
    """The claims as they were when they were judged last, by id, as far as they can be read today."""
    document, _ = parse_leniently(facts.spec, Path(facts.path))
    claims = claims_with_choices(sound_claims(document, known, facts.profile, facts.overrides))
    return {claim["id"]: claim for claim in claims}


def _with_absence(section: dict[str, Json], kept_rows: Sequence[Mapping[str, Json]]) -> dict[str, Json]:
    """A section, with the reason where the data lack its rows."""
    return (
        section
        if is_drawable(section, kept_rows)
        else {**section, "absent": missing_rows_sentence(section_selections(section))}
    )


def _text_fields(facts: ReportFacts, document: "SpecDocument", path: str, runs: Any) -> dict[str, Any]:
    """The fields of the spec's text: path, text and digest; the digest of an unchanged text stays."""
    if document.text == facts.spec:
        return {"path": path}
    question = plan_identity(facts.name, document.text.encode(), facts.profile, facts.overrides, ())
    return {"path": path, "spec": document.text, "digest": digest([*question, "runs", sorted(runs)])}
