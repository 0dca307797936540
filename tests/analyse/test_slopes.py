"""Slopes on logarithms against numpy's, by group, and where there is none."""

import numpy as np
import polars as pl
import pytest

from lnlab.analyse.statistics.slopes import log_slopes


def rows(**groups) -> pl.DataFrame:
    listed = [{"of": name, "x": x, "y": y} for name, pairs in groups.items() for x, y in pairs]
    return pl.DataFrame(listed, schema={"of": pl.String, "x": pl.Float64, "y": pl.Float64})


def test_each_group_has_the_least_squares_slope_of_its_logarithms_unless_it_has_too_few_rows():
    rng = np.random.default_rng(3)
    a, b = (np.exp(rng.normal(size=(6, 2))) for _ in range(2))
    found = log_slopes(rows(b=b.tolist(), a=a.tolist()), ["of"], "x", "y")
    assert found["of"].to_list() == ["b", "a"]
    expected = [np.polyfit(np.log(m[:, 0]), np.log(m[:, 1]), 1)[0] for m in (b, a)]
    assert found["slope"].to_list() == pytest.approx(expected)
    cubes = [(1.0, 1.0), (2.0, 8.0), (3.0, 27.0)]
    assert log_slopes(rows(a=cubes), ["of"], "x", "y", least=3)["slope"].to_list() == pytest.approx([3])
    assert log_slopes(rows(a=cubes), ["of"], "x", "y", least=4)["slope"].to_list() == [None]
    assert log_slopes(rows(a=[(2.0, 1.0), (2.0, 3.0)]), ["of"], "x", "y")["slope"].to_list() == [None]


@pytest.mark.parametrize("spoiled", [None, 0.0, -1.0])
def test_one_value_without_a_logarithm_leaves_no_slope(spoiled):
    for pair in ((2.0, spoiled), (spoiled, 2.0)):
        found = log_slopes(rows(a=[(1.0, 1.0), pair, (3.0, 9.0)]), ["of"], "x", "y")
        assert found["slope"].to_list() == [None]
