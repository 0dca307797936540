"""The claims of a spec as it stands today, judged on the rows of a report."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from lnlab.claims.judging import judge_all
from lnlab.claims.look_book import LookBook
from lnlab.committed.asked_today import AskedToday
from lnlab.committed.commits import head_commit
from lnlab.committed.committed_report import CommittedReport
from lnlab.committed.evidence import renewed_evidence
from lnlab.committed.judging import equal_verdicts, locate_claim_problem
from lnlab.compile.plan import Plan
from lnlab.errors import ReportError
from lnlab.execute.model_graphs import model_graphs
from lnlab.issues import Issue
from lnlab.report.default_sections import with_default_sections
from lnlab.report.folder import data_files, packs_in, results_of_plan
from lnlab.report.referee import with_review
from lnlab.report.words.wording import count_noun
from lnlab.specfile.columns import EVALUATION
from lnlab.store.plans import plan_frames
from lnlab.tables import Results

if TYPE_CHECKING:
    from lnlab.compile.resolve.choices import Registries


def judge_report(report: CommittedReport, asked: AskedToday, known: "Registries") -> tuple[dict[str, bytes], str]:
    """Judge the claims of a spec on the rows of a report.

    All that the report holds stays in it, also what the spec no longer asks for.

    Args:
        report: its data, or all of it.
        asked: what the spec asks.
        known: the registries of both wings.

    Returns:
        its files ``data/*`` as they are now, and in words for the end of a line how many claims were judged and how
        many runs are absent.

    Raises:
        ReportError: the report cannot be read, or was measured by other probes.
        LabError: claims that no rows could answer.
    """
    folder = report.folder
    facts, held, verdicts = report.parsed
    plan, claims = asked.plan, asked.claims
    _refuse_other_probes(plan, held, folder)
    results = results_of_plan(report.contents, plan_frames(plan), folder)
    results = replace(results, evidence=renewed_evidence(claims, folder, facts.profile, held.evidence))
    absent = results.runs.join(held.runs, on="run", how="anti").height
    overlays = facts.profile, facts.overrides
    book = LookBook.from_json(facts.looks, commit=head_commit(folder))
    judged = judge_all(claims, results, lambda issue: locate_claim_problem(issue, asked.document, *overlays), (), book)
    last = {verdict.claim: verdict for verdict in verdicts}
    judged = [
        replace(last[one.claim], measure=one.measure, quantity=one.quantity)
        if one.claim in last and equal_verdicts(last[one.claim], one)  # only rounding is new
        else one
        for one in judged
    ]
    # Where every setting has runs in this report, its models are those that the report has drawn.
    settings = [(plan.settings[variant], plan.points[variant]) for variant in plan.settings]
    models = model_graphs(plan.sections, settings, known, {} if absent else facts.models)
    new = replace(asked.facts, models=models, looks=book.to_json())
    new = with_default_sections(new, results, judged, claims)
    new = with_review(new, results, judged, claims, folder)
    data = data_files(new, results, judged, claims, packs_in(report.contents), folder)
    parts = [f"; {new.path}: {count_noun(len(judged), 'claim')} judged"]
    parts += [f"{count_noun(absent, 'run')} not in the report"] if absent else []
    return data, ", ".join(parts)


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
