"""The curves that a report keeps: all that its claims read and all that are short, and of others the drawn points.

A loss at every update of hundreds of runs would be most of a repository. Whatever is left out is named in the record of
its trajectory (``store.records.record``), and a claim that reads it is not judged on what is left.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import polars as pl

from lnlab.claims.claim import Claim, Verdict
from lnlab.claims.thinned import LONG_CURVE, claim_selections, named_in, quantities_of_claim
from lnlab.report.compose import build_parts
from lnlab.report.facts import ReportFacts
from lnlab.select.quantity import quantity_facts
from lnlab.tables import Results

_KEPT = ("epoch",)
"""The review of a page that is drawn again states its epochs, too."""


def thinned_results(
    facts: ReportFacts, results: Results, verdicts: Sequence[Verdict], claims: Iterable[Claim]
) -> Results:
    """The results with no more points of long curves than the sections draw, where no claim reads them."""
    curves = results.lazy("curves").collect() if "curves" in results.tables else None
    if curves is None or curves.is_empty():
        return results
    read = {name for claim in claims for name in quantities_of_claim(claim)} | set(_KEPT)
    lengths = curves.lazy().filter(~pl.col("quantity").is_in(list(read)))
    lengths = lengths.group_by("run", "split", "quantity").len().filter(pl.col("len") > LONG_CURVE)
    named = {name for claim in claims for selection in claim_selections(claim) for name in named_in(selection)}
    derived = [own for own in map(quantity_facts, sorted(named)) if own is not None]
    if any(own.of is None and own.table in (None, "curves") for own in derived):
        return results  # it does not say what it reads
    long = lengths.select("quantity").unique().collect()["quantity"].sort().to_list()
    if not long:
        return results
    parts = [part.section.rows for part in build_parts(facts, results, verdicts) if part.section is not None]
    drawn = [rows["curves"].select(curves.columns) for rows in parts if "curves" in rows]
    for own in derived:
        if own.reads is not None:
            drawn.append(own.reads(curves.filter(pl.col("quantity").is_in(own.of or ()))).select(curves.columns))
    is_long = pl.col("quantity").is_in(long)
    # How a run ended is told by its last finite loss.
    losses = curves.filter(is_long, pl.col("value").is_finite(), quantity="loss", split="train")
    last = losses.sort("step", maintain_order=True).unique("run", keep="last", maintain_order=True)
    kept = pl.concat([*drawn, last.select(curves.columns)]).unique()
    left = pl.concat([curves.filter(~is_long), kept.filter(is_long)]).unique()
    gone = curves.join(left, on=curves.columns, how="anti", nulls_equal=True)
    if gone.is_empty():
        return results
    left = curves.join(left, on=curves.columns, how="semi", nulls_equal=True, maintain_order="left")
    names = dict(gone.group_by("run").agg("quantity").iter_rows())
    thinned = {
        run: frozenset(names.get(run, ())) | results.thinned.get(run, frozenset())
        for run in (*results.thinned, *(run for run in names if run not in results.thinned))
    }
    tables = {**{name: results.lazy(name).collect() for name in results.tables}, "curves": left}
    return replace(results, tables=tables, scans={}, thinned=thinned)
