"""Turn stored histograms into shares by step and octave. Zeros and what is not finite are counted apart.

A stored bin is [2^e (1 + q/4), 2^e (1 + (q + 1)/4)), so four of them make an octave. A drawn row is some octaves.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from lnlab.analyse.statistics.medians import histogram_median
from lnlab.errors import ReportError
from lnlab.issues import Issue
from lnlab.keys import Json
from lnlab.report.data.downsample import MAX_POINTS
from lnlab.report.data.figure import FigureData, as_seeds
from lnlab.report.data.labels import label_series
from lnlab.report.data.series import mean_points, missing_runs_sentence
from lnlab.select.rows import narrow_rows
from lnlab.select.select import runs_with
from lnlab.tables import Results

MAX_HISTOGRAM_STEPS = 24
"""The most columns of a panel."""
MIN_DRAWN_SHARE = 1e-3
"""Rows at either end whose share is smaller in every panel at every step are not drawn."""
_PLACE = ["panel", "seed", "x"]


@dataclass(frozen=True, kw_only=True)
class HistogramShares(FigureData):
    """Shares of the elements at step ``x`` in row ``line``, which starts at 2^(octaves line). Each variant has a panel.

    Attributes:
        medians: ``panel seed x value``: the median element, 0 where more than half are 0.
        zeros: by panel, the largest share of elements that are exactly 0, over steps.
        odd: by panel, the largest share of elements that are not finite. Panels without any are left out.
        dropped: steps that are not drawn.
    """

    medians: pl.DataFrame
    zeros: Mapping[str, float]
    odd: Mapping[str, float]
    dropped: int


def collect_histograms(results: Results, quantity: str, where: Mapping[str, Json], octaves: int) -> HistogramShares:
    """The histograms of one quantity, those of all selected sites of a run added up.

    Args:
        results: of an experiment.
        quantity: of the table ``histograms``.
        where: which rows.
        octaves: in a drawn row.

    Raises:
        LabError: ``where`` selects nothing.
        ReportError: more panels than a page can draw.
    """
    histograms = results.tables["histograms"].filter(pl.col("quantity") == quantity)
    for key, condition in where.items():
        histograms = narrow_rows(results, histograms, key, condition)
    # conditions on columns of the table have narrowed its rows, those on settings narrow the runs
    runs = runs_with(
        results, {k: w for k, w in where.items() if k not in histograms.columns or k in ("run", "seed", "variant")}
    )
    names, _, labels = label_series(results, runs, "")
    labelled = histograms.join(labels, on="run", maintain_order="left").rename({"series": "panel", "line": "_panel"})
    middle = (pl.col("left") + pl.col("right")) / 2  # a bin without a finite, positive one is in no row
    row = (middle.log(2.0) / octaves).floor().cast(pl.Int32, strict=False)
    rows = labelled.with_columns(
        pl.when((middle > 0) & middle.is_finite()).then(row).alias("line"), pl.col("step").alias("x")
    )
    # all steps, or as many as a page can draw, evenly spread, with the first and the last
    steps = rows["x"].unique().sort().to_list()
    of_step = max(rows["panel"].n_unique() * rows["line"].drop_nulls().n_unique(), 1)
    most = min(MAX_HISTOGRAM_STEPS, MAX_POINTS // of_step)
    if most < 2 <= len(steps):
        what = f"{of_step:,} rows in all panels together, and a page can draw {MAX_POINTS // 2:,}"
        raise ReportError(Issue("too-large", "where", what, "select fewer variants, or more octaves in a row"))
    places = np.linspace(0, len(steps) - 1, most).round().astype(int) if len(steps) > most else range(len(steps))
    drawn_steps = [steps[place] for place in places]
    drawn_rows = rows.filter(pl.col("x").is_in(drawn_steps))
    seeds = _shares(drawn_rows)
    counts = drawn_rows.group_by("_panel", *_PLACE, "left", "right").agg(pl.col("count").sum())
    medians = [  # within its bin by its logarithm
        (*place, histogram_median(*(bins[c].to_numpy() for c in ("left", "right", "count"))))
        for place, bins in counts.sort("_panel", *_PLACE, "left").group_by(_PLACE, maintain_order=True)
    ]
    schema = {"panel": pl.String, "seed": pl.Int64, "x": pl.Int64, "value": pl.Float64}
    return HistogramShares(
        seeds=seeds,
        points=mean_points(seeds, log=False),
        panels=tuple(name for name in names if name in set(drawn_rows["panel"])),
        medians=pl.DataFrame(medians, schema=schema, orient="row"),
        zeros=_largest_shares(drawn_rows, pl.col("right") == 0),
        odd={name: share for name, share in _largest_shares(drawn_rows, ~pl.col("right").is_finite()).items() if share},
        dropped=len(steps) - len(drawn_steps),
        missing=missing_runs_sentence(runs),
        rows={"histograms": drawn_rows.select(histograms.columns)},
    )


def _shares(rows: pl.DataFrame) -> pl.DataFrame:
    """The share of every seed in every row that any seed of its panel and step has, but for nearly empty rows."""
    shares = rows.with_columns(share=pl.col("count") / pl.col("count").sum().over(_PLACE)).drop_nulls("line")
    sums = shares.group_by("_panel", "panel", "seed", "x", "line").agg(value=pl.col("share").sum())
    large = sums.filter(pl.col("value") >= MIN_DRAWN_SHARE)["line"]
    central = sums.filter(pl.col("line").is_between(large.min(), large.max())) if len(large) else sums
    cells = central.select("_panel", "panel", "x", "line").unique()
    grid = cells.join(rows.select(_PLACE).unique(), on=["panel", "x"])
    # a seed that has no such element has a share of 0, which counts in the mean
    complete = grid.join(sums, on=[*_PLACE, "line"], how="left").with_columns(pl.col("value").fill_null(0.0))
    labelled = complete.with_columns(series=pl.col("line").cast(pl.String)).sort("_panel", "line", "x", "seed")
    return as_seeds(labelled)


def _largest_shares(rows: pl.DataFrame, which: pl.Expr) -> dict[str, float]:
    """By panel, the largest share over steps of the elements in the bins ``which``, all seeds together."""
    inside = pl.col("count").filter(which).sum() / pl.col("count").sum()
    shares = rows.group_by("_panel", "panel", "x").agg(inside.alias("share")).sort("_panel")
    return dict(shares.group_by("panel", maintain_order=True).agg(pl.col("share").max()).iter_rows())
