"""Thinning keeps the extremes and says so."""

import numpy as np
import polars as pl

from lnlab.report.charts.downsample import MAX_POINTS, thin_points


def cloud(n):
    rng = np.random.default_rng(1)
    x = np.arange(n, dtype=float)
    return pl.DataFrame({"panel": [None] * n, "series": ["a"] * n, "x": x, "estimate": rng.normal(size=n)}).cast(
        {"panel": pl.String}
    )


def test_a_million_points_become_at_most_5000_with_both_extremes_and_both_ends():
    points = cloud(1_000_000)
    kept, said = thin_points(points)
    assert 2_000 < kept.height <= MAX_POINTS
    assert kept["estimate"].min() == points["estimate"].min()
    assert kept["estimate"].max() == points["estimate"].max()
    assert kept["x"].to_list()[0] == 0
    assert kept["x"].to_list()[-1] == 999_999
    assert kept["x"].is_sorted()
    assert said == f"{kept.height:,} of 1,000,000 points are drawn; the extremes are kept."


def test_few_points_stay_as_they_are():
    points = cloud(MAX_POINTS)
    kept, said = thin_points(points)
    assert kept.equals(points)
    assert said == ""


def test_each_series_keeps_its_own_extremes():
    a, b = cloud(20_000), cloud(20_000).with_columns(pl.lit("b").alias("series"), pl.col("estimate") * 1e-3)
    kept, _ = thin_points(pl.concat([a, b]))
    assert kept.height <= MAX_POINTS
    low = kept.group_by("series").agg(pl.col("estimate").min()).sort("series")["estimate"].to_list()
    assert low == [a["estimate"].min(), b["estimate"].min()]
