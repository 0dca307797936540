"""The claims of a spec as it stands today, judged on the tables of a report."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from lnlab.claims.look_book import LookBook
from lnlab.compile.decisions import decision_from_json as decision
from lnlab.compile.digests import plan_identity
from lnlab.compile.front import compile_front, setting_namer
from lnlab.errors import ReportError
from lnlab.issues import Issue
from lnlab.keys import digest
from lnlab.printable import path_as_shown, shown_path
from lnlab.record.commits import head_commit
from lnlab.record.evidence import renewed_evidence
from lnlab.record.held_rows import is_drawable, missing_rows_sentence, section_selections
from lnlab.record.judge_again import JudgedReport, judge_again
from lnlab.record.judging import claims_as_judged, locate_claim_problem
from lnlab.record.matching import match_runs
from lnlab.report.default_sections import with_default_sections
from lnlab.report.facts import ReportFacts
from lnlab.report.folder import data_files, read_folder
from lnlab.report.question import claims_with_choices, question_fields
from lnlab.report.same_question import refuse_other_question, spec_of_report, with_origin
from lnlab.report.words.wording import count_noun
from lnlab.specfile.load import load_spec, parse_spec, read_spec_text

if TYPE_CHECKING:
    from lnlab.compile.resolve.choices import Registries


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
        into: the folder into which they will be written, the same or another.
        spec: its path. None means the file that the report names, or else the text in the report.
        known: the registries of both wings.
        replacing: whether ``into`` may hold the report of another question. None means a copy for comparison, which
            says the same as the report in its own folder.

    Raises:
        SpecError: every problem of the spec.
        ReportError: the report cannot be read, or would lose runs that the spec does not ask for.
        LabError: claims that no rows could answer, or something is chosen that these runs did not decide.
    """
    facts, results, verdicts = read_folder(folder)
    file = spec if spec is not None else find_spec(folder, facts)
    path = facts.path if spec is None else shown_path(spec)
    if spec is not None:
        document = load_spec(spec)
    elif file is not None:
        document = parse_spec(read_spec_text(file), file)
    else:  # only the text in the report is at hand
        document = parse_spec(facts.spec, Path(facts.path))
    decisions = [decision(entry) for entry in facts.decisions]
    front = compile_front(document, known, profile=facts.profile, overrides=facts.overrides, decisions=decisions)
    claims = claims_with_choices(front.experiment, zip(front.experiment.claims, front.claims, strict=True))
    matched = match_runs(results, front.settings, front.seeds, setting_namer(known))
    elsewhere = into.resolve() != folder.resolve()
    if matched.dropped and not elsewhere:
        what = f"{path} does not ask for {matched.dropped} of its {results.runs.height} runs, which would be lost"
        raise ReportError(Issue("differs", str(folder), what, "write elsewhere with --out"))

    before = JudgedReport(
        results,
        claims=claims_as_judged(facts, known),
        verdicts={verdict.claim: verdict for verdict in verdicts},
        kept_rows=facts.kept,
    )
    evidence = renewed_evidence(claims, folder, facts.profile, results.evidence)
    matched = replace(matched, results=replace(matched.results, evidence=evidence))
    book = LookBook.from_json(facts.looks, commit=head_commit(folder))
    overlays = facts.profile, facts.overrides
    judged = judge_again(claims, matched, before, lambda issue: locate_claim_problem(issue, document, *overlays), book)

    new_facts = question_fields(front.experiment, front.sections, known)
    new_facts["sections"] = tuple(
        section
        if is_drawable(section, facts.kept, new_facts["seeds"])
        else {**section, "absent": missing_rows_sentence(section_selections(section))}
        for section in new_facts["sections"]
    )
    if document.text != facts.spec:  # the digest of an unchanged text stays
        question = plan_identity(facts.name, document.text.encode(), *overlays, ())
        new_facts |= {"spec": document.text, "digest": digest([*question, "runs", sorted(results.runs["run"])])}
    new = replace(facts, **new_facts, path=path, looks=book.to_json())
    new = with_default_sections(new, matched.results, judged.verdicts, claims)
    if replacing is not None:
        if elsewhere and not replacing:
            refuse_other_question(into, new, file)
        if elsewhere or spec is not None:
            new = with_origin(into, new, file)
    data = data_files(new, matched.results, judged.verdicts, into)
    return data, RejudgeSummary(
        path,
        len(judged.verdicts) - len(judged.carried),
        carried=len(judged.carried),
        absent=len(matched.absent),
    )


def find_spec(folder: Path, facts: ReportFacts) -> Path | None:
    """The spec that a report names, below the working folder, below one that holds the report, or where it was then."""
    here = Path(path_as_shown(facts.path))
    if here.is_file():
        return here
    return spec_of_report(folder, facts.path) or spec_of_report(folder, facts.path, facts.origin)
