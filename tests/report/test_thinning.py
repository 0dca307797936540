"""Thinning keeps the extremes and says so."""

from itertools import pairwise

import numpy as np
import polars as pl
import pytest

from lnlab.report.data.downsample import MAX_POINTS, thin_lines, thin_points


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
    assert said.startswith(f"{kept.height:,} of 1,000,000 points ")


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


@pytest.mark.parametrize("size", [1, 2, 9, 10, 11, 12, 57, 1000])
def test_a_line_keeps_evenly_spaced_places_and_its_last_and_is_not_thinned_twice(size):
    rows = pl.DataFrame({"series": ["a"] * 2 * size, "x": [float(n) for n in range(size)] * 2, "seed": [1, 2] * size})
    kept = thin_lines(rows, ["series"], 10)
    places = kept["x"].unique().sort().to_list()
    gaps = {b - a for a, b in pairwise(places[:-1])}
    assert places[0] == 0
    assert places[-1] == size - 1
    assert len(gaps) <= 1
    assert len(places) <= 11
    assert kept.height == 2 * len(places), "every seed of a place"
    assert thin_lines(kept, ["series"], 10).equals(kept)
