"""Thin training curves evenly, and average losses of single batches over windows of training steps."""

from collections.abc import Sequence

import polars as pl

from lnlab.report.data.downsample import thin_lines
from lnlab.report.data.figure import SEED_SCHEMA
from lnlab.specfile.columns import VOCABULARY

MAX_CURVE_POINTS, _LEAST = 50, 8
"""The most points of a line, and the fewest, however many lines there are."""
_WINDOWED_FROM, _PLACES_A_WINDOW = 30, 4
"""Places of a line above which losses of single batches are drawn as means over windows, and places of each window."""
_MOST_WINDOWED = 12
"""The most lines for which single batches are drawn behind the means over their windows."""
_ALL = 2_000
"""The most points of all lines together, and of all diverged runs together, unless each has ``_LEAST``."""
LEVEL_SCHEMA = {"series": pl.String, "line": pl.Int32, "x": pl.Float64, "estimate": pl.Float64}


def thinned_curves(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows of at most ``MAX_CURVE_POINTS`` places of each line, or of several in each window."""
    line = ["panel", "series"]
    most = _points_per_line(rows.select(line).n_unique())
    batches = _long_lines(rows, pl.col("_split") == VOCABULARY["split"].index("train"))
    if not batches.any():
        return thin_lines(rows, line, most)
    windowed_most = max(most // 2 * _PLACES_A_WINDOW, 2 * _WINDOWED_FROM + 4)  # what is thinned must stay long
    windows = thin_lines(rows.filter(batches), line, windowed_most)
    others = thin_lines(rows.filter(~batches), line, most)
    thinned = pl.concat([windows, others]).select("run", "x", "panel").unique()
    return rows.join(thinned, on=["run", "x", "panel"], how="semi", nulls_equal=True, maintain_order="left")


def thinned_rates(rows: pl.DataFrame) -> pl.DataFrame:
    """The learning rates of evenly spaced training steps, and where a rate arrives at its peak and leaves it."""
    peak = pl.col("x").filter(pl.col("value") == pl.col("value").max())
    corners = rows.with_columns(peak.min().over("series").alias("_up"), peak.max().over("series").alias("_down"))
    most = _points_per_line(rows["series"].n_unique())
    # no more than the evenly spaced places, the last one and the two corners: thinned again it would lose some of them
    if rows.filter(pl.col("x").n_unique().over("series") > most + 3).is_empty():
        return rows
    evenly = thin_lines(rows, ["series"], most)
    places = pl.concat(
        [evenly.select("series", "x"), *(corners.select("series", pl.col(c).alias("x")) for c in ("_up", "_down"))]
    )
    return rows.join(places.unique(), on=["series", "x"], how="semi", maintain_order="left")


def of_single_batches(seeds: pl.DataFrame, splits: Sequence[str]) -> pl.Series:
    """Whether each row is on a long line over single batches, as training records them on the training split."""
    train = pl.col("panel") == "train" if len(splits) > 1 else pl.lit(splits == ("train",))
    return _long_lines(seeds, train)


def _long_lines(rows: pl.DataFrame, train: pl.Expr) -> pl.Series:
    if rows.select("panel", "series").n_unique() > _MOST_WINDOWED:
        # of so many lines none is told from its batches
        train = pl.lit(value=False)
    places = pl.col("x").n_unique().over("panel", "series")
    return rows.select(((places > _WINDOWED_FROM) & train).fill_null(value=False).alias("batches"))["batches"]


def window_means(seeds: pl.DataFrame, batches: pl.Series, *, log: bool) -> pl.DataFrame:
    """Means over windows of consecutive places, with x in the middle of a window.

    A line has at most half as many windows as it may have points.

    Args:
        seeds: as ``SEED_SCHEMA``.
        batches: which rows are of single batches. The others stay as they are.
        log: whether means are geometric.
    """
    if not batches.any():
        return seeds
    line = ["panel", "series", "line"]
    windows = _points_per_line(seeds.select("panel", "series").n_unique()) // 2
    place = pl.col("x").rank("dense").over(line).cast(pl.Int64) - 1
    places = place.max().over(line) + 1
    window = (place * pl.min_horizontal(windows, places // _PLACES_A_WINDOW) // places).alias("_window")
    value = pl.col("value").log().mean().exp() if log else pl.col("value").mean()
    long = seeds.filter(batches).with_columns(window).with_columns(pl.col("x").unique().mean().over(*line, "_window"))
    means = long.group_by(*line, "x", "seed", maintain_order=True).agg(value).select(SEED_SCHEMA.keys())
    return pl.concat([means, seeds.filter(~batches)])


def batch_means(seeds: pl.DataFrame, *, log: bool) -> pl.DataFrame:
    """Means over seeds at single places, thinned for a drawing."""
    value = pl.col("value").log().mean().exp() if log else pl.col("value").mean()
    means = seeds.group_by("series", "line", "x", maintain_order=True).agg(value.alias("estimate"))
    return thin_lines(means, ["series"], 2 * MAX_CURVE_POINTS).sort("line", "x").select(LEVEL_SCHEMA.keys())


def _points_per_line(lines: int) -> int:
    return max(_LEAST, min(MAX_CURVE_POINTS, _ALL // max(lines, 1)))


def thinned_runs(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows of runs that diverged, each run thinned by itself."""
    most = _points_per_line(rows.select("run", "panel").n_unique())
    return thin_lines(rows.sort("line", "run", "_split", "x"), ["run", "panel"], most)
