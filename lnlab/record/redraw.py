"""The claims of a spec as it stands today, judged on the tables of a report."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from lnlab.claims.claim import Claim
from lnlab.claims.claim_scope import results_of_claim
from lnlab.claims.look_book import LookBook
from lnlab.compile.decisions import Decision, decision_from_json, decisions_to_json
from lnlab.compile.digests import plan_identity
from lnlab.compile.front import compile_front, setting_namer
from lnlab.compile.stages import ChoiceNotMade, ResolvedStage
from lnlab.errors import ReportError
from lnlab.issues import Issue
from lnlab.keys import Json, digest
from lnlab.printable import path_as_shown, shown_path
from lnlab.record.commits import head_commit
from lnlab.record.evidence import renewed_evidence
from lnlab.record.held_rows import (
    are_covered,
    entries_of_runs,
    is_drawable,
    missing_rows_sentence,
    section_selections,
)
from lnlab.record.joined_reports import ReportTables, join_reports
from lnlab.record.judge_again import JudgedClaims, JudgedReport, judge_again
from lnlab.record.judging import claims_as_judged, locate_claim_problem
from lnlab.record.matching import MatchedRuns, match_runs
from lnlab.record.measured_probes import refuse_changed_probes, resolved_probes
from lnlab.record.model_graphs import model_graphs
from lnlab.record.planned_criteria import with_frozen_criteria
from lnlab.record.reported_runs import reports_of_runs
from lnlab.report.default_sections import with_default_sections
from lnlab.report.facts import COMMON_FIELDS, ReportFacts
from lnlab.report.folder import data_files, read_folder
from lnlab.report.kept_rows import claim_selections
from lnlab.report.question import claims_with_choices, question_fields
from lnlab.report.referee import with_review
from lnlab.report.same_question import refuse_other_question, spec_of_report, with_origin
from lnlab.report.words.wording import count_noun
from lnlab.select.seeds import drawn_results
from lnlab.specfile.load import SpecDocument, load_spec, parse_spec, read_spec_text
from lnlab.tables import Results

if TYPE_CHECKING:
    from lnlab.compile.plan import Plan
    from lnlab.compile.resolve.choices import Registries

_SETTINGS_NAMED = 5
"""At most so many settings without runs are named in a message."""


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
        replacing: whether ``into`` may hold the report of another question, or lose runs that the spec does not ask
            for. None means a copy for comparison, which says the same as the report in its own folder.

    Raises:
        SpecError: every problem of the spec.
        ReportError: the report cannot be read, was measured by other probes, or would lose runs that the spec does not
            ask for.
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
    asked = _asked(document, facts, results, known)
    refuse_changed_probes(resolved_probes(asked.front.experiment, known), folder, facts.probes, known)
    elsewhere = into.resolve() != folder.resolve()
    if asked.matched.dropped and not elsewhere and not replacing:
        raise _runs_would_be_lost(path, folder, asked.matched.dropped, results.runs.height)
    before = JudgedReport(
        results,
        claims=claims_as_judged(facts, known),
        verdicts={verdict.claim: verdict for verdict in verdicts},
        kept_rows=facts.kept,
    )
    book = LookBook.from_json(facts.looks, commit=head_commit(folder))
    new, results, judged = _judged(asked, replace(facts, path=path), folder, before, book)
    if file is not None:
        new = with_frozen_criteria(new, file, known)
    if replacing is not None:
        if elsewhere and not replacing:
            refuse_other_question(into, new, file)
        if elsewhere or spec is not None:
            new = with_origin(into, new, file)
    data = data_files(new, results, judged.verdicts, into)
    return data, RejudgeSummary(
        path,
        len(judged.verdicts) - len(judged.carried),
        carried=len(judged.carried),
        absent=len(asked.matched.absent),
    )


def judge_joined_tables(
    spec: Path,
    folders: Sequence[Path],
    into: Path,
    known: "Registries",
    stored: Callable[[], ReportTables | None] = lambda: None,
    planned: Callable[[Sequence[Decision]], "Plan | None"] = lambda _: None,
    *,
    replacing: bool = False,
) -> tuple[dict[str, bytes], RejudgeSummary]:
    """Judge the claims of a spec on the tables of several reports, each run with the rows that any of them has of it.

    Args:
        spec: its path.
        folders: the reports.
        into: the folder into which the files will be written.
        known: the registries of both wings.
        stored: what a store holds of the spec. Called if the reports lack a run or a choice on tuning seeds.
        planned: its plan, given the decisions of the reports, if it can be made here. Its keys tell whether the runs of
            a report are still those that the spec asks for.
        replacing: whether ``into`` may hold the report of another question, or of runs that the spec does not ask for.

    Raises:
        SpecError: every problem of the spec.
        ReportError: a report cannot be read, or has runs that are not the same today, two have different numbers of a
            run, or none has a run of the spec.
        LabError: claims that no rows could answer, or something is chosen that these runs did not decide.
    """
    joined = join_reports(folders, known)
    path = shown_path(spec)
    document = load_spec(spec)
    try:
        asked = _asked(document, joined.facts, joined.results, known)
        tables = stored() if asked.matched.absent else None
    except ChoiceNotMade:
        tables = stored()
        if tables is None:
            raise
    if tables is not None:
        joined = join_reports(folders, known, tables)
        asked = _asked(document, joined.facts, joined.results, known)
    matched = asked.matched
    probes = resolved_probes(asked.front.experiment, known)
    for part in joined.parts:
        if not part.results.runs.join(matched.results.runs, on="run", how="semi").is_empty():
            refuse_changed_probes(probes, part.folder, part.facts.probes, known)
    if (plan := planned(asked.front.decisions)) is not None:
        for report in reports_of_runs(joined, known)[: len(folders)]:
            report.runs_of(plan, known)
    if matched.absent:
        runs = matched.results.runs.filter(pl.col("run").is_in(list(matched.absent)))
        labels = matched.results.axes.group_by("run", maintain_order=True).agg(pl.col("axis") + " = " + pl.col("label"))
        named = dict(labels.iter_rows())
        by_setting: dict[str, list[int]] = {}
        for run, seed in runs.select("run", "seed").iter_rows():
            by_setting.setdefault(", ".join(named.get(run, ())) or "its only setting", []).append(seed)
        listed = [f"{setting} (seed {', '.join(map(str, seeds))})" for setting, seeds in by_setting.items()]
        shown = "; ".join(listed[:_SETTINGS_NAMED]) + ("; ..." if len(listed) > _SETTINGS_NAMED else "")
        what = f"none of these reports has {count_noun(runs.height, 'run')} of the spec: {shown}"
        options = [word for folder in folders for word in ("--rows-from", str(folder))]
        command = shlex.join(["lnlab", "run", *replace(joined.facts, path=path).command, *options])
        remedy = f"name the report that has them, or compute them with {command}"
        raise ReportError(Issue("not-found", path, what, remedy))
    held = [part.results.runs for part in joined.parts if part.folder.resolve() == into.resolve()]
    lost = sum(runs.join(matched.results.runs, on="run", how="anti").height for runs in held)
    if lost and not replacing:
        raise _runs_would_be_lost(path, into, lost, held[0].height)
    before, book = joined.before(asked.claims, matched.results)
    facts = replace(joined.facts, name=spec.stem, path=path, kept=tuple(before.kept_rows), models={})
    new, results, judged = _judged(asked, facts, into, before, replace(book, commit=head_commit(spec.parent)))
    new = with_frozen_criteria(replace(new, frozen={}), spec, known)
    if not replacing:
        refuse_other_question(into, new, spec)
    new = replace(new, kept=_with_what_was_read(joined.kept(results.runs), new, asked.claims, before, results))
    data = data_files(with_origin(into, new, spec), results, judged.verdicts, into)
    return data, RejudgeSummary(path, len(judged.verdicts) - len(judged.carried), len(judged.carried), 0)


def _with_what_was_read(
    kept: Sequence[Mapping[str, Json]],
    facts: ReportFacts,
    claims: Sequence[Claim],
    before: JudgedReport,
    results: Results,
) -> tuple[Mapping[str, Json], ...]:
    """A record of kept rows with today's sections and claims whose rows are there by other names alone."""
    drawn = drawn_results(results, facts.seeds, facts.grid_seeds)
    entries = list(kept)
    for section in facts.sections:
        if "absent" not in section and not is_drawable(section, kept, results=drawn):
            entries.append({"section": {k: v for k, v in section.items() if k not in COMMON_FIELDS}})
    for claim in claims:
        own = results_of_claim(claim, results)
        for selection in claim_selections(claim):
            there, known = (
                all(are_covered([of_runs], rows) for rows, of_runs in entries_of_runs(record, own, selection))
                for record in (before.kept_rows, kept)
            )
            if there and not known:
                entries.append({"selection": selection})
    return tuple(entries)


@dataclass(frozen=True)
class _Asked:
    """What a spec asks, and the runs that the tables have of it."""

    document: SpecDocument
    front: ResolvedStage
    claims: Sequence[Claim]
    matched: MatchedRuns
    known: "Registries"


def _asked(document: SpecDocument, facts: ReportFacts, results: Results, known: "Registries") -> _Asked:
    decisions = [decision_from_json(entry) for entry in facts.decisions]
    front = compile_front(document, known, profile=facts.profile, overrides=facts.overrides, decisions=decisions)
    claims = claims_with_choices(front.experiment, zip(front.experiment.claims, front.claims, strict=True))
    matched = match_runs(results, front.settings, front.seeds, setting_namer(known))
    return _Asked(document=document, front=front, claims=claims, matched=matched, known=known)


def _judged(
    asked: _Asked, facts: ReportFacts, folder: Path, before: JudgedReport, book: LookBook
) -> tuple[ReportFacts, Results, JudgedClaims]:
    """The facts, the results and the verdicts of what is asked. ``folder`` has the reports beside it that are cited."""
    evidence = renewed_evidence(asked.claims, folder, facts.profile, before.results.evidence)
    matched = replace(asked.matched, results=replace(asked.matched.results, evidence=evidence))
    overlays = facts.profile, facts.overrides
    document = asked.document
    judged = judge_again(
        asked.claims, matched, before, lambda issue: locate_claim_problem(issue, document, *overlays), book
    )
    front = asked.front
    new_facts = question_fields(front.experiment, front.sections, asked.known, front.grid_seeds, profile=facts.profile)
    if any(decision.grid for decision in front.decisions):
        new_facts["decisions"] = tuple(decisions_to_json(front.decisions))
    # Where every setting has runs in this report, its models are those that the report has drawn.
    new_facts["models"] = model_graphs(
        front.sections, front.settings, asked.known, {} if matched.absent else facts.models
    )
    drawn = drawn_results(matched.results, new_facts["seeds"], front.grid_seeds)
    new_facts["sections"] = tuple(
        section
        if is_drawable(section, facts.kept, results=drawn)
        else {**section, "absent": missing_rows_sentence(section_selections(section))}
        for section in new_facts["sections"]
    )
    if document.text != facts.spec:  # the digest of an unchanged text stays
        question = plan_identity(facts.name, document.text.encode(), *overlays, ())
        runs = sorted(before.results.runs["run"])
        new_facts |= {"spec": document.text, "digest": digest([*question, "runs", runs])}
    new = replace(facts, **new_facts, looks=book.to_json())
    new = with_default_sections(new, matched.results, judged.verdicts, asked.claims)
    return with_review(new, matched.results, judged.verdicts, asked.claims, folder), matched.results, judged


def _runs_would_be_lost(path: str, folder: Path, lost: int, there: int) -> ReportError:
    what = f"{path} does not ask for {lost} of its {there} runs, which would be lost"
    return ReportError(
        Issue("differs", str(folder), what, "write elsewhere with --out, or give them up with --replace")
    )


def find_spec(folder: Path, facts: ReportFacts) -> Path | None:
    """The spec that a report names, below the working folder, below one that holds the report, or where it was then."""
    here = Path(path_as_shown(facts.path))
    if here.is_file():
        return here
    return spec_of_report(folder, facts.path) or spec_of_report(folder, facts.path, facts.origin)
