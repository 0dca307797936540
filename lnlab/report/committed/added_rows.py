"""The rows of runs that are added to a report: those that it would keep, had it had the runs from the start."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from lnlab.analyse.select.select import runs_with
from lnlab.analyse.select.settings import NothingSelected
from lnlab.claims.claim import Claim, Verdict
from lnlab.errors import Problem, ReportError
from lnlab.keys import Json, canonical
from lnlab.report.compose import build_parts, rows_used
from lnlab.report.facts import ReportFacts
from lnlab.report.held_rows import claim_selections, record_kept_rows
from lnlab.tables import Results


@dataclass(frozen=True)
class RowKeeper:
    """What a report keeps rows for.

    Attributes:
        facts: of the report, with the record of its rows.
        claims: its claims, resolved.
        verdicts: of these claims.
    """

    facts: ReportFacts
    claims: Sequence[Claim]
    verdicts: Sequence[Verdict]

    def rows(self, results: Results) -> dict[str, pl.DataFrame]:
        """The rows of these results that the report keeps: those of its sections, its claims and its record."""
        record = self.facts.kept
        sections = tuple(entry["section"] for entry in record if "section" in entry)
        parts = build_parts(replace(self.facts, sections=sections), results, self.verdicts)
        selections = [{"of": entry["selection"]} for entry in record if "selection" in entry]
        return rows_used(parts, [*self.claims, *selections], results)


def cut_added_rows(results: Results, added: Collection[str], keeper: RowKeeper, where: str) -> Results:
    """These results with only those rows of the added runs that their report keeps, each table in the order of runs.

    The rows that the report has of its other runs stay, whatever today's spec reads of them.

    Args:
        results: of the report, and in full of the added runs.
        added: keys of the added runs.
        keeper: of the report.
        where: the folder of the report, for messages.

    Raises:
        ReportError: a line of a figure would have other places, so that the rows of the report do not lie on it.
    """
    of_added = pl.col("run").is_in(pl.Series(list(added), dtype=pl.String).implode())
    used = keeper.rows(results)
    _refuse_other_places(keeper.rows(_of_runs(results, ~of_added)), used, results.runs.filter(~of_added), where)
    tables = {}
    for name, table in results.tables.items():
        rows = pl.concat([table.filter(~of_added), used[name].filter(of_added)])
        tables[name] = _in_order(rows, results.runs)
    return replace(results, tables=tables)


def record_after_adding(
    facts: ReportFacts, claims: Sequence[Claim], results: Results, added: Collection[str]
) -> tuple[Mapping[str, Json], ...]:
    """The record of kept rows, with those of claims that read added runs alone, whose rows are all there.

    Args:
        facts: of the report, with its record and the seeds that sections draw: of others they keep no rows.
        claims: of the spec as it is today, resolved.
        results: with the rows that were kept for these claims.
        added: keys of the added runs.
    """
    of_seeds = {"seeds": list(facts.seeds)} if facts.seeds else {}
    record = [{**entry, **of_seeds} if "section" in entry else entry for entry in facts.kept]
    fresh = [claim for claim in claims if claim.get("seeds") and _reads_only(claim, results, added)]
    entries = (*record, *record_kept_rows(fresh, ()))
    return tuple({canonical(entry): entry for entry in entries}.values())


def _reads_only(claim: Claim, results: Results, added: Collection[str]) -> bool:
    try:
        return all(set(runs_with(results, s)["run"]) <= set(added) for s in claim_selections(claim))
    except NothingSelected:
        return False


def _of_runs(results: Results, condition: pl.Expr) -> Results:
    """The results of runs that meet a condition and were computed."""
    runs = results.runs.filter(condition, pl.col("status").is_not_null())
    tables = {name: table.filter(condition) for name, table in results.tables.items()}
    axes = results.axes.join(runs.select("run"), on="run", how="semi", maintain_order="left")
    return Results(runs, axes, tables, results.evidence)


def _in_order(rows: pl.DataFrame, runs: pl.DataFrame) -> pl.DataFrame:
    """The rows in the order of their runs; those of one run keep theirs."""
    order = runs.select("run").with_row_index("_order")
    joined = rows.join(order, on="run", how="left", maintain_order="left")
    return joined.sort("_order", maintain_order=True).drop("_order")


def _refuse_other_places(
    before: dict[str, pl.DataFrame], used: dict[str, pl.DataFrame], runs: pl.DataFrame, where: str
) -> None:
    """See to it that lines are thinned as they were: a mean at a place that only some seeds have is none over seeds.

    A run that diverged is a line by itself; how many places it has depends on how many there are, and all are true.
    """
    if "curves" not in before:
        return
    lost = before["curves"].join(used["curves"], on=before["curves"].columns, how="anti", nulls_equal=True)
    finished = runs.filter(pl.col("status") == "finished")
    if lost.join(finished, on="run", how="semi").height:
        what = "with the added runs its lines would have points at other steps than those it has rows of"
        raise ReportError(Problem(where, what, "run the spec with all seeds, then lnlab report"))
