"""Thin the points of a drawing. Lines over steps, layers or depths keep evenly spaced places, others their extremes."""

from collections.abc import Sequence

import polars as pl

MAX_POINTS = 5_000


def thin_points(points: pl.DataFrame, limit: int = MAX_POINTS) -> tuple[pl.DataFrame, str]:
    """At most ``limit`` points, and a sentence that says so where some had to go.

    Each series is cut along ``x`` into equal stretches. The lowest and the highest point of each stretch stay, and so
    do the first and the last point of the series.

    Args:
        points: ``panel series x`` and ``estimate`` or ``value``, sorted by x within a series.
        limit: how many points may be drawn.
    """
    if points.height <= limit:
        return points, ""
    value = "estimate" if "estimate" in points.columns else "value"
    lines = ["panel", "series"]
    groups = points.select(lines).n_unique()
    # two points of each stretch stay, and the two ends of the series
    stretches = max(1, (limit // groups - 2) // 2)
    position = pl.int_range(pl.len()).over(lines)
    size = pl.len().over(lines)
    marked = points.with_columns(
        (position * stretches // size).alias("_stretch"), position.alias("_at"), size.alias("_size")
    )
    stretch = [*lines, "_stretch"]
    extreme = (pl.col("_at") == pl.col("_at").sort_by(value).first().over(stretch)) | (
        pl.col("_at") == pl.col("_at").sort_by(value).last().over(stretch)
    )
    end_points = (pl.col("_at") == 0) | (pl.col("_at") == pl.col("_size") - 1)
    thinned = marked.filter(extreme | end_points).drop("_stretch", "_at", "_size")
    return thinned, f"{thinned.height:,} of {points.height:,} points are drawn; the extremes are kept."


def thin_lines(rows: pl.DataFrame, line: Sequence[str], most: int) -> pl.DataFrame:
    """Every k-th place of each line and its last one, with the smallest k that leaves no more than ``most + 1``.

    Which places stay does not depend on what was measured there, so that means over them are means of the whole.
    Thinning is idempotent.

    Args:
        rows: with a column ``x``, several rows a place if there are several seeds.
        line: the columns that tell lines apart.
        most: how many places a line may have, but for the last one.
    """
    place = pl.col("x").rank("dense").over(line).cast(pl.Int64) - 1
    last = place.max().over(line)
    stride = ((last + most - 1) // most).clip(lower_bound=1)
    return rows.filter((place % stride == 0) | (place == last))
