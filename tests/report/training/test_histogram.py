"""Histograms over steps: shares of all elements by octave, medians, zeros; the page in a browser; the notebook run."""

import math

import numpy as np
import polars as pl
import pytest

from lnlab.report.charts.render import to_svg
from lnlab.report.data.histograms import MAX_HISTOGRAM_STEPS
from lnlab.report.data.series import collect_series
from lnlab.report.page.figures import spec_with_data
from lnlab.report.sections.histogram import histogram
from lnlab.report.sections.plots import scatter
from lnlab.tables import Results

POST = {"quantity": "gradient_size", "where": {"placement": "post", "optimizer.lr": 1e-3}}


def drawn_values(seed, step):
    """What the toy's histogram of Post-LN counts: 900 entries, and 100 zeros."""
    return np.exp2(np.random.default_rng([seed, step, False]).normal(-10 - step / 10, 2, 900))


def test_a_cell_is_the_share_of_all_elements_in_its_octave(whole):
    (chart,) = histogram(whole, **POST).charts
    for step, row in ((1, -10), (50, -15), (50, -14)):
        expected = np.mean([(np.floor(np.log2(drawn_values(s, step))) == row).sum() / 1000 for s in range(1, 6)])
        cell = chart.points.filter(x=step, line=row).row(0, named=True)
        assert cell["estimate"] == pytest.approx(expected)
        assert cell["n"] == 5
    (wide,) = histogram(whole, **POST, octaves=4).charts
    expected = np.mean([(np.floor(np.log2(drawn_values(s, 1)) / 4) == -3).sum() / 1000 for s in range(1, 6)])
    assert wide.points.filter(x=1, line=-3)["estimate"].item() == pytest.approx(expected)


def test_the_median_counts_zeros_and_the_heading_compares_it_within_seeds(whole, golden):
    ratios = []
    for seed in range(1, 6):
        ends = [np.median(np.concatenate([drawn_values(seed, step), np.zeros(100)])) for step in (1, 50)]
        ratios.append(ends[1] / ends[0])
    exact = math.exp(np.mean(np.log(ratios)))
    finding = histogram(whole, **POST).finding
    told = float(finding.rpartition("falls to ")[2].rstrip("×"))
    assert told == pytest.approx(exact, rel=0.15), "known to a quarter of an octave"
    golden(finding)


def test_medians_without_zeros_keep_the_histograms_that_they_are_made_of(whole):
    asked = {"log": True, "panels": False}
    found = collect_series(whole, "median_gradient_size", POST["where"], "step", **asked)
    first = found.seeds.filter(x=1).sort("seed")["value"].to_list()
    assert first == pytest.approx([np.median(drawn_values(seed, 1)) for seed in range(1, 6)], rel=0.05)
    kept = Results(whole.runs, whole.axes, {**whole.tables, **found.rows})
    assert found.rows["histograms"]["quantity"].unique().to_list() == ["gradient_size"]
    assert collect_series(kept, "median_gradient_size", POST["where"], "step", **asked).seeds.equals(found.seeds)


def test_a_scatter_keeps_the_tables_behind_either_quantity(whole):
    of = {"quantity": "median_gradient_size", **POST["where"]}
    rows = scatter(whole, of=of, to={"quantity": "nll", "split": "validation"}, over="step").rows
    assert rows["histograms"]["quantity"].unique().to_list() == ["gradient_size"]
    assert rows["curves"]["quantity"].unique().to_list() == ["nll"]


def test_zeros_and_what_is_not_finite_are_stated(whole, golden):
    caption = histogram(whole, **POST).charts[0].caption
    golden(caption)
    assert "Not finite" not in caption
    rows = whole.tables["histograms"]
    odd = rows.filter(pl.col("left") == 0).with_columns(left=pl.lit(math.inf), right=pl.lit(math.inf))
    spoiled = Results(whole.runs, whole.axes, {**whole.tables, "histograms": pl.concat([rows, odd])})
    (chart,) = histogram(spoiled, **POST).charts
    golden(chart.caption)
    assert "NaN" not in to_svg(spec_with_data(chart))


def test_more_steps_than_a_panel_holds_are_left_out_evenly_and_said(trained, golden):
    many = trained(rates=(1e-3,), seeds=(1,), bins=range(1, 101))
    section = histogram(many, quantity="gradient_size")
    (chart,) = section.charts
    shown = chart.points["x"].unique().sort().to_list()
    assert len(shown) == MAX_HISTOGRAM_STEPS
    assert [shown[0], shown[-1]] == [1, 100]
    assert max(np.diff(shown)) - min(np.diff(shown)) <= 1
    golden(chart.caption)
    kept = Results(many.runs, many.axes, {**many.tables, **section.rows})
    assert histogram(kept, quantity="gradient_size").charts[0].points.equals(chart.points)


def test_nothing_measured_and_no_finite_element_are_said(whole, trained, golden):
    golden(histogram(trained(seeds=(1,)), quantity="gradient_size").finding)
    rows = whole.tables["histograms"].filter(pl.col("left") == 0)
    zeros = Results(whole.runs, whole.axes, {**whole.tables, "histograms": rows})
    assert histogram(zeros, **POST).charts == ()
