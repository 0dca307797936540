"""A quantity between sublayers: rows are sublayers, columns what came before them, one panel a variant."""

from collections.abc import Sequence

import polars as pl

from lnlab.errors import ReportError
from lnlab.issues import Issue
from lnlab.keys import Json
from lnlab.report.data.downsample import MAX_POINTS
from lnlab.report.data.figure import FigureData, as_seeds, estimate_headings
from lnlab.report.data.labels import label_series
from lnlab.report.data.series import (
    mean_points,
    missing_runs_sentence,
    refuse_duplicates,
    source_rows_of,
    undrawn_numbers,
    without_survivors,
)
from lnlab.report.figures.shades import Heatmap
from lnlab.report.section import Section, sections, unmeasured
from lnlab.report.words.quantity_words import quantity_definition, quantity_name, quantity_with_unit
from lnlab.report.words.statistic import MEAN
from lnlab.report.words.wording import format_short, in_variant, join_words, two_at_most
from lnlab.select.select import Selected
from lnlab.select.sublayers import number_sublayers
from lnlab.tables import Results


@sections.register("heatmap")
def heatmap(results: Results, *, quantity: str, where: dict[str, Json] | None = None) -> Section:
    """``mean over seeds of the quantity at (sublayer i, index j)``: i downwards, j to the right, one panel per variant.

    Sublayers of one stack are numbered from 1 in the order of the stream. All panels share one colour scale from 0.
    """
    selection = {"quantity": quantity, **(where or {})}
    taken = Selected(results, selection)
    selected, runs = taken.rows, taken.runs
    names, _, labels = label_series(results, runs, "")
    labelled = selected.join(labels, on="run", how="left", maintain_order="left")
    kept, unfinished = without_survivors(labelled, runs.join(labels, on="run"), "index")
    numbered_rows = number_sublayers(kept.filter(pl.col("index").is_not_null()))
    if numbered_rows["stack"].n_unique() > 1:  # sublayers are numbered within a stack
        stacks = join_words(numbered_rows["stack"].unique().sort())
        raise ReportError(Issue("ambiguous", "where", f"rows of {stacks}", "select one stack: where: {stack: encoder}"))
    # a panel is a variant, a line a sublayer by its number, x the branch
    sublayer = pl.col("i").cast(pl.String).alias("series")
    placed = numbered_rows.rename({"series": "panel"}).with_columns(
        sublayer, pl.col("line").alias("_order"), pl.col("i").alias("line"), x="index"
    )
    refuse_duplicates(placed, "index")
    seeds = as_seeds(placed.filter(pl.col("value").is_finite()).sort("_order", "line", "x", "seed"))
    cells = FigureData(
        seeds=seeds,
        points=mean_points(seeds.sort("panel", "line", "x", "seed"), log=False),
        panels=names,
        left_out=(*undrawn_numbers(placed.height - seeds.height, 0), *unfinished),
        missing=missing_runs_sentence(runs),
        rows=source_rows_of(results, quantity, selected),
    )
    if seeds.is_empty():
        return unmeasured(cells, quantity)
    if cells.points.height > MAX_POINTS:  # with some of them left out it would be another picture
        what = f"{cells.points.height:,} cells, and a page can draw {MAX_POINTS:,}"
        raise ReportError(Issue("too-large", "where", what, "select fewer variants or layers"))
    title = quantity_with_unit(quantity)
    return Heatmap(
        data=cells,
        title=title,
        rows="sublayer i",
        columns="branch j (0 is the input)",
        statistic=MEAN,
        subject=quantity_definition(quantity),
        notes=(
            "Rows: stream after each sublayer, the first at the top. Columns: input of the stack (0) and the branches "
            "so far; the last is the sublayer's own.",
            "Stronger shades: larger values, on one scale for all panels.",
        ),
        shows=f"Heat map of the {title}, by sublayer and branch, for {join_words(names)}",
        finding=_finding(cells.points, quantity, names),
        headings={
            "panel": "variant",
            "line": "sublayer i",
            "x": "branch j",
            **estimate_headings(quantity_name(quantity)),
        },
    ).section()


def _finding(estimates: pl.DataFrame, quantity: str, names: Sequence[str]) -> str:
    """State the mean on each sublayer's own branch, in the first and in the last third of the sublayers."""
    i = pl.col("line")
    own_branch = estimates.filter(pl.col("x") == i).with_columns(pl.col("line").max().over("panel").alias("last"))
    if own_branch["panel"].n_unique() < estimates["panel"].n_unique():
        ranges = estimates.group_by("panel").agg(low=pl.col("estimate").min(), high=pl.col("estimate").max())
        texts = [
            f"{format_short(low)} to {format_short(high)} {in_variant(name)}"
            for name, low, high in sorted(ranges.rows(), key=lambda row: names.index(row[0]))
        ]
        return f"The {quantity_name(quantity)} ranges from {two_at_most(texts, sentences=False)}"
    mean = pl.col("estimate").mean
    last = pl.col("last")
    first, final = own_branch.filter(i * 3 <= last), own_branch.filter(i * 3 > 2 * last)
    thirds = first.group_by("panel").agg(first=mean()).join(final.group_by("panel").agg(final=mean()), on="panel")
    texts = [
        f"{format_short(early)} and {format_short(late)} {in_variant(name)}"
        for name, early, late in sorted(thirds.rows(), key=lambda row: names.index(row[0]))
    ]
    where = "In the first and the last third of the sublayers"
    return f"{where}, the {quantity_name(quantity)} on their own branch is {two_at_most(texts, sentences=False)}"
