"""Densities of many values: bins, bands, and the values that have no place."""

import math

import numpy as np
import polars as pl
import pytest
from scipy import stats

from lnlab.report.charts.render import to_svg
from lnlab.report.page.figures import spec_with_data
from lnlab.report.sections.density import density
from lnlab.tables import Results
from tests.report.conftest import changed

WHERE = {"model.layers": [6, 14], "decoder.cross_attention": True, "model.tied": "target"}
BOTH = {"quantity": "gradient_norm", "where": WHERE, "panels": "model.layers"}
POST = {"quantity": "gradient_norm", "where": {**WHERE, "model.layers": 14, "placement": "post"}}


def measured(results, variant):
    return results.tables["sites"].filter(quantity="gradient_norm", variant=variant)


def test_the_line_is_the_pooled_histogram_and_its_band_is_over_seeds(results):
    (chart,) = density(results, **POST, bins=8).charts
    of = measured(results, "post-14-True-target")
    logs = np.log10(of["value"].to_numpy())
    expected, edges = np.histogram(logs, 8, density=True)
    inner = chart.points[1:-1]
    assert inner["estimate"].to_list() == pytest.approx(expected)
    assert np.log10(inner["x"].to_numpy()) == pytest.approx((edges[1:] + edges[:-1]) / 2)
    each = [np.histogram(np.log10(s["value"].to_numpy()), edges, density=True)[0][3] for _, s in of.group_by("seed")]
    low, high = stats.t.interval(0.95, 9, np.mean(each), stats.sem(each))
    assert chart.points.row(4, named=True)["low"] == pytest.approx(low)
    assert chart.points.row(4, named=True)["high"] == pytest.approx(high)
    assert chart.points["n"].unique().to_list() == [10]


def test_the_heading_has_the_quantiles_of_all_values(results):
    low, high = np.quantile(measured(results, "post-14-True-target")["value"].to_numpy(), [0.05, 0.95])
    assert density(results, **POST).finding.endswith(f" lie from {low:.2g} to {high:.2g}")


def test_zeros_are_counted_by_line_and_named(results, golden):
    gone = pl.col("variant").eq("pre-14-True-target") & pl.col("layer").eq(2)
    (chart,) = density(changed(results, pl.lit(0.0), gone), **BOTH).charts
    golden(chart.caption)
    of = chart.points.filter(panel="14 layers", series="Pre-LN")
    width = math.log10(of["x"][1] / of["x"][0])
    assert of["estimate"].sum() * width == pytest.approx(520 / 560)


def test_equal_values_and_extreme_ones_are_drawn(results):
    every = pl.lit(value=True)
    for expression in (pl.lit(1.0), pl.col("value") * 1e-300, pl.col("value") * 1e300):
        assert "NaN" not in to_svg(spec_with_data(density(changed(results, expression, every), **POST).charts[0]))


def test_one_seed_has_no_band_and_nothing_to_draw_is_a_sentence(results, golden):
    one = Results(results.runs, results.axes, {**results.tables, "sites": results.tables["sites"].filter(seed=1)})
    assert "one seed, no band" in density(one, **POST).charts[0].caption
    none = density(changed(results, pl.lit(0.0), pl.lit(value=True)), **POST)
    golden(none.finding)
    assert none.charts == ()
