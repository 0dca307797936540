"""The claims of a spec as it stands today, judged on the rows of a report."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from lnlab import __version__
from lnlab.claims.judging import judge_all
from lnlab.claims.look_book import LookBook
from lnlab.committed.commits import head_commit
from lnlab.committed.evidence import renewed_evidence
from lnlab.committed.frozen import frozen_path, with_frozen_criteria
from lnlab.committed.judging import equal_verdicts, locate_claim_problem
from lnlab.compile.decisions import decision_from_json, decisions_to_json
from lnlab.compile.files_read import files_of_entries
from lnlab.compile.plan import Plan, compile_plan
from lnlab.corpora.files.fetch import data_roots
from lnlab.errors import ReportError
from lnlab.execute.model_graphs import model_graphs
from lnlab.issues import Issue
from lnlab.printable import shown_path
from lnlab.report.default_sections import with_default_sections
from lnlab.report.facts import ReportFacts
from lnlab.report.folder import data_files, packs_in, parse_report, results_of_plan, store_files
from lnlab.report.question import claims_with_choices, files_read_by, question_fields, resolved_probes
from lnlab.report.referee import with_review
from lnlab.report.same_question import find_spec, refuse_other_question, with_origin
from lnlab.report.words.wording import count_noun
from lnlab.specfile.columns import EVALUATION
from lnlab.specfile.load import SpecDocument, load_spec, parse_spec
from lnlab.specfile.values import kind_label
from lnlab.store.plans import plan_frames
from lnlab.tables import Results

if TYPE_CHECKING:
    from lnlab.compile.resolve.choices import Registries


def judge_report(
    folder: Path,
    into: Path,
    spec: Path | None,
    known: "Registries",
    *,
    replacing: bool | None = None,
    own_text: bool = False,
) -> tuple[dict[str, bytes], str, str]:
    """Judge the claims of a spec on the rows of a report.

    All that the report holds stays in it, also what the spec no longer asks for.

    Args:
        folder: the report.
        into: the folder into which they will be written, the same or another.
        spec: its path. None means the file that the report names, or else the text in the report.
        known: the registries of both wings.
        replacing: whether ``into`` may hold the report of another question. None means a copy for comparison, which
            says the same as the report in its own folder.
        own_text: whether the text in the report is judged, whatever its file says today.

    Returns:
        its files ``data/*`` as they are now, the spec as the page names it, and in words for the end of a line how many
        claims were judged and how many runs are absent.

    Raises:
        SpecError: every problem of the spec.
        ReportError: the report cannot be read, or was measured by other probes.
        LabError: claims that no rows could answer, or something is chosen that these runs did not decide.
    """
    before = store_files(folder)
    facts, results, verdicts = parse_report(before, folder)
    file = spec if spec is not None or own_text else find_spec(folder, facts)
    # Without a file only the text in the report is at hand.
    document = load_spec(file) if file is not None else parse_spec(facts.spec, Path(facts.path))
    path = facts.path if spec is None else shown_path(spec)
    plan = _plan_of(document, facts, known)
    _refuse_other_probes(plan, results, folder)
    claims = claims_with_choices(plan.experiment, zip(plan.experiment.claims, plan.claims, strict=True))
    asked = results_of_plan(before, plan_frames(plan), folder)
    absent = asked.runs.join(results.runs, on="run", how="anti").height
    evidence = renewed_evidence(claims, folder, facts.profile, results.evidence)
    asked = replace(asked, evidence=evidence)
    overlays = facts.profile, facts.overrides
    book = LookBook.from_json(facts.looks, commit=head_commit(folder))
    judged = judge_all(claims, asked, lambda issue: locate_claim_problem(issue, document, *overlays), (), book)
    last = {verdict.claim: verdict for verdict in verdicts}
    judged = [
        replace(last[one.claim], measure=one.measure, quantity=one.quantity)
        if one.claim in last and equal_verdicts(last[one.claim], one)  # only rounding is new
        else one
        for one in judged
    ]
    fields = _fields_of(plan, document, facts, known, absent=absent)
    new = replace(facts, **{**fields, "path": path, "looks": book.to_json()})
    new = with_default_sections(new, asked, judged, claims)
    new = with_review(new, asked, judged, claims, folder)
    if file is not None and frozen_path(file).is_file():
        new = with_frozen_criteria(new, file, known)
    elsewhere = into.resolve() != folder.resolve()
    if replacing is not None:
        new = replace(new, version=__version__)
        if elsewhere and not replacing:
            refuse_other_question(into, new, file)
        if elsewhere or spec is not None:
            new = with_origin(into, new, file)
    data = data_files(new, asked, judged, claims, packs_in(before), folder)
    parts = [f"; {path}: {count_noun(len(judged), 'claim')} judged"]
    parts += [f"{count_noun(absent, 'run')} not in the report"] if absent else []
    return data, path, ", ".join(parts)


def _plan_of(document: SpecDocument, facts: ReportFacts, known: "Registries") -> Plan:
    """The judged runs of a spec under the decisions of a report. What its keys hold of files is as the report has it.

    Raises:
        SpecError: every problem of the spec.
        ReportError: the spec chooses something that these runs did not decide.
    """
    plan = compile_plan(
        document,
        known,
        data_roots(document.path.parent),
        profile=facts.profile,
        overrides=facts.overrides,
        decisions=[decision_from_json(entry) for entry in facts.decisions],
        memory=sys.maxsize,
        known_files=files_of_entries(facts.files_read, known),
        other_profiles=False,
    )
    if plan.undecided:
        question = plan.undecided[0]
        where = ", ".join(f"{axis} = {kind_label(value)}" for axis, value in question.about.items()) or "all runs"
        what = f"the choice of '{question.path}' for {where} was not made in these runs"
        raise ReportError(Issue("not-run", str(document.path), what, "run the spec again"))
    return plan


def _fields_of(
    plan: Plan, document: SpecDocument, facts: ReportFacts, known: "Registries", *, absent: int
) -> dict[str, Any]:
    """What a report says of the plan that it is judged by. ``absent`` is how many of its runs it lacks."""
    fields = question_fields(plan.experiment, plan.sections, known, plan.grid_seeds, profile=facts.profile)
    # Where every setting has runs in this report, its models are those that the report has drawn.
    settings = [(plan.settings[variant], plan.points[variant]) for variant in plan.settings]
    fields |= {
        "probes": resolved_probes(plan.experiment, known),
        "files_read": files_read_by(plan),
        "models": model_graphs(plan.sections, settings, known, {} if absent else facts.models),
    }
    if any(decision.grid for decision in plan.decisions):
        fields["decisions"] = tuple(decisions_to_json(plan.decisions))
    if document.text != facts.spec:  # the digest of an unchanged text stays
        fields |= {"spec": document.text, "digest": plan.digest}
    return fields


def _refuse_other_probes(plan: Plan, results: Results, folder: Path) -> None:
    """Refuse rows of a probe that measured otherwise or at other moments: nothing of it would be left.

    A kind of probe that a run of the report lacks as a whole does no harm: its rows are absent, and said to be.

    Raises:
        ReportError: a run of the report was measured by a kind of probe, and not as the spec asks for it.
    """
    word, split = (pl.col("probe").str.json_path_match(f"$.{key}") for key in ("kind", "split"))
    kind = pl.when(word == EVALUATION).then(pl.format("{} on {}", word, split)).otherwise(word).alias("kind")
    asked = plan_frames(plan)["needs"].with_columns(kind)
    measured = results.tables["needs"].with_columns(kind)
    lost = asked.join(measured, on=["run", "kind"], how="semi").join(measured, on="measurement", how="anti")
    if names := sorted(lost["kind"].unique()):
        what = "its probe {} had other parameters or moments"
        remedy = "run the spec, or measure so"
        raise ReportError(*(Issue("differs", str(folder), what.format(name), remedy) for name in names))
