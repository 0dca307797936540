"""Fewer points for a drawing, with its extremes kept."""

import polars as pl

MAX_POINTS = 5_000


def thin_points(points: pl.DataFrame, limit: int = MAX_POINTS) -> tuple[pl.DataFrame, str]:
    """At most ``limit`` points, and a sentence that says so where some had to go.

    Each series is cut along ``x`` into equal stretches; of each stretch the lowest and the highest point stay, and the
    first and the last point of the series do.

    Args:
        points: ``panel series x`` and ``estimate`` or ``value``, sorted by x within a series.
        limit: how many points may be drawn.
    """
    if points.height <= limit:
        return points, ""
    value = "estimate" if "estimate" in points.columns else "value"
    lines = ["panel", "series"]
    groups = points.select(lines).n_unique()
    stretches = max(1, (limit // groups - 2) // 2)
    position, size = pl.int_range(pl.len()).over(lines), pl.len().over(lines)
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
