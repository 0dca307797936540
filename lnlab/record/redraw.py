"""The claims of a spec as it stands today, judged on the tables of a report."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lnlab.claims.look_book import LookBook
from lnlab.compile.decisions import decision_from_json as decision
from lnlab.compile.digests import plan_identity
from lnlab.compile.front import compile_front, setting_namer, sound_claims
from lnlab.compile.stages import ResolvedStage
from lnlab.errors import ReportError
from lnlab.issues import Issue
from lnlab.keys import Json, digest
from lnlab.printable import path_as_shown, shown_path
from lnlab.record.commits import head_commit
from lnlab.record.evidence import renewed_evidence
from lnlab.record.held_rows import is_drawable, missing_rows_sentence, section_selections
from lnlab.record.judge_again import JudgedReport, judge_again
from lnlab.record.judging import locate_claim_problem
from lnlab.record.matching import match_runs
from lnlab.report.default_sections import with_default_sections
from lnlab.report.facts import ReportFacts
from lnlab.report.folder import data_files, read_folder
from lnlab.report.question import claims_with_choices, question_fields
from lnlab.report.same_question import refuse_other_question, spec_of_report, with_origin
from lnlab.report.words.wording import count_noun
from lnlab.specfile.load import load_spec, parse_leniently, parse_spec, read_spec_text

if TYPE_CHECKING:
    from lnlab.claims.claim import Claim, Verdict
    from lnlab.compile.resolve.choices import Registries
    from lnlab.specfile.load import SpecDocument
    from lnlab.tables import Results


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
        parts = [f"{self.path}: {count_noun(self.judged, 'claim')} judged"]
        parts += [f"{self.carried} unchanged, whose rows are not in the tables"] if self.carried else []
        parts += [f"{count_noun(self.absent, 'run')} not in the tables"] if self.absent else []
        return f"; {', '.join(parts)}"


def judge_tables(
    folder: Path,
    into: Path,
    spec: Path | None,
    known: "Registries",
    *,
    replacing: bool | None = None,
) -> tuple[dict[str, bytes], RejudgeSummary]:
    """Judge the claims of a spec on the tables of a report: its files ``data/*`` as they are now, and a summary.

    Args:
        folder: the report.
        into: where they will be written; the same folder, or another.
        spec: its path; None: the file that the report names, or else the text in the report.
        known: the registries of both wings.
        replacing: whether ``into`` may hold the report of another question; None: it is a copy for comparison, in which
            the report says what it says in its own folder.

    Raises:
        SpecError: every problem of the spec.
        ReportError: the report cannot be read, or would lose runs that the spec does not ask for.
        LabError: claims that no rows could answer, or something is chosen that these runs did not decide.
    """
    facts, results, verdicts = read_folder(folder)
    report = _Report(folder, facts, results, verdicts)
    today = _spec_of_today(report, spec, known)
    matched = match_runs(results, today.front.settings, today.front.seeds, setting_namer(known))
    if matched.dropped and into.resolve() == folder.resolve():
        what = f"{today.path} does not ask for {matched.dropped} of its {results.runs.height} runs, which would be lost"
        raise ReportError(Issue("differs", str(folder), what, "write elsewhere with --out"))
    before = JudgedReport(
        results,
        claims=_claims_before(facts, known),
        verdicts={verdict.claim: verdict for verdict in verdicts},
        kept_rows=facts.kept,
    )
    evidence = renewed_evidence(today.claims, folder, facts.profile, results.evidence)
    matched = replace(matched, results=replace(matched.results, evidence=evidence))
    book = LookBook.from_json(facts.looks, commit=head_commit(folder))
    judged = judge_again(today.claims, matched, before, partial(_located, report, today), book)
    new = replace(_facts_of_today(report, today, before.kept_rows), looks=book.to_json())
    new = with_default_sections(new, matched.results, judged.verdicts, today.claims)
    if replacing is not None:
        new = _in_folder(new, today, folder, into, spec, replacing=replacing)
    data = data_files(new, matched.results, judged.verdicts, into)
    return data, RejudgeSummary(
        today.path,
        len(judged.verdicts) - len(judged.carried),
        carried=len(judged.carried),
        absent=len(matched.absent),
    )


def _in_folder(
    facts: ReportFacts, today: "_SpecOfToday", folder: Path, into: Path, spec: Path | None, *, replacing: bool
) -> ReportFacts:
    """The facts as the folder has them that they are written into, if it is another one or the spec has moved.

    Raises:
        ReportError: it holds the report of another question.
    """
    elsewhere = into.resolve() != folder.resolve()
    if elsewhere and not replacing:
        refuse_other_question(into, facts, today.file)
    return with_origin(into, facts, today.file) if elsewhere or spec is not None else facts


@dataclass(frozen=True)
class _Report:
    """A report as it lies in its folder."""

    folder: Path
    facts: ReportFacts
    results: "Results"
    verdicts: "Sequence[Verdict]"


@dataclass(frozen=True)
class _SpecOfToday:
    """The spec of a report as it stands today.

    Attributes:
        path: as the page names it.
        document: the spec.
        front: what it asks, with the profile, the overrides and the choices on tuning seeds of the report.
        claims: its claims, resolved.
        fields: of ``ReportFacts``, which state its question.
        file: the file of the spec; None where only the text in the report is at hand.
    """

    path: str
    document: "SpecDocument"
    front: ResolvedStage
    claims: "Sequence[Claim]"
    fields: Mapping[str, Any]
    file: Path | None


def _spec_of_today(report: _Report, spec: Path | None, known: "Registries") -> _SpecOfToday:
    """The spec at a path, or the one that the report names, compiled as far as its claims need it."""
    facts = report.facts
    path, file, document = _document(report.folder, facts, spec)
    decisions = [decision(entry) for entry in facts.decisions]
    front = compile_front(document, known, profile=facts.profile, overrides=facts.overrides, decisions=decisions)
    claims = claims_with_choices(front.experiment, zip(front.experiment.claims, front.claims, strict=True))
    fields = question_fields(front.experiment, front.sections, known)
    return _SpecOfToday(path, document, front, claims=claims, fields=fields, file=file)


def _located(report: _Report, today: _SpecOfToday, problem: Issue) -> Issue:
    """A problem of a claim, at its place in the spec."""
    return locate_claim_problem(problem, today.document, report.facts.profile, report.facts.overrides)


def _facts_of_today(report: _Report, today: _SpecOfToday, kept_rows: Sequence[Mapping[str, Json]]) -> ReportFacts:
    """The facts of the report with the question, the sections and the text of the spec."""
    seeds = today.fields["seeds"]
    sections = tuple(_with_absence(section, kept_rows, seeds) for section in today.fields["sections"])
    text = _text_fields(report.facts, today.document, today.path, report.results.runs["run"])
    return replace(report.facts, kept=tuple(kept_rows), **{**today.fields, "sections": sections, **text})


def _document(folder: Path, facts: ReportFacts, spec: Path | None) -> "tuple[str, Path | None, SpecDocument]":
    """The path of the spec as the page names it, its file, and the spec."""
    if spec is not None:
        return shown_path(spec), spec, load_spec(spec)
    file = find_spec(folder, facts)
    if file is not None:
        return facts.path, file, parse_spec(read_spec_text(file), file)
    return facts.path, None, parse_spec(facts.spec, Path(facts.path))


def find_spec(folder: Path, facts: ReportFacts) -> Path | None:
    """The spec that a report names, below the working folder or one that holds the report; else where it was then."""
    here = Path(path_as_shown(facts.path))
    if here.is_file():
        return here
    return spec_of_report(folder, facts.path) or spec_of_report(folder, facts.path, facts.origin)


def _claims_before(facts: ReportFacts, known: "Registries") -> "Mapping[str, Claim]":
    """The claims as they were when they were judged last, by id, as far as they can be read today."""
    document, _ = parse_leniently(facts.spec, Path(facts.path))
    claims = claims_with_choices(*sound_claims(document, known, facts.profile, facts.overrides))
    return {claim["id"]: claim for claim in claims}


def _with_absence(
    section: dict[str, Json], kept_rows: Sequence[Mapping[str, Json]], seeds: Sequence[int]
) -> dict[str, Json]:
    """A section, with the reason where the data lack its rows."""
    return (
        section
        if is_drawable(section, kept_rows, seeds)
        else {**section, "absent": missing_rows_sentence(section_selections(section))}
    )


def _text_fields(facts: ReportFacts, document: "SpecDocument", path: str, runs: Any) -> dict[str, Any]:
    """The fields of the spec's text: path, text and digest; the digest of an unchanged text stays."""
    if document.text == facts.spec:
        return {"path": path}
    question = plan_identity(facts.name, document.text.encode(), facts.profile, facts.overrides, ())
    return {"path": path, "spec": document.text, "digest": digest([*question, "runs", sorted(runs)])}
