"""One quantity against another: pairs, exponents and means are those of the numbers, recomputed here."""

import math

import numpy as np
import polars as pl
import pytest
from scipy import stats

from lnlab.errors import LabError
from lnlab.report.charts.render import to_svg
from lnlab.report.data.theory import TheoryLine
from lnlab.report.page.figures import spec_with_data
from lnlab.report.sections.plots import scatter
from lnlab.tables import Results

PRE = {"stack": "decoder", "decoder.cross_attention": True, "model.tied": "target", "placement": "pre"}
OF = {"quantity": "gradient_norm", "tensor": "w2", "model.layers": 6, **PRE}
TO = {"quantity": "hidden_norm_sq", "tensor": "sum"}


def matrix(results, quantity, tensor, layers=6):
    """(seeds, layers) of the Pre-LN decoder."""
    of = results.tables["sites"].filter(
        quantity=quantity, variant=f"pre-{layers}-True-target", stack="decoder", tensor=tensor
    )
    return of.sort("seed", "layer")["value"].to_numpy().reshape(10, layers)


def slopes(results, layers=6):
    x, y = (np.log(matrix(results, *q, layers)) for q in (("hidden_norm_sq", "sum"), ("gradient_norm", "w2")))
    return [stats.linregress(a, b).slope for a, b in zip(x, y, strict=True)]


def test_the_exponent_is_the_mean_of_each_seeds_own_slope(results, golden):
    found = scatter(results, of=OF, to=TO).finding
    every = slopes(results)
    low, high = stats.t.interval(0.95, 9, np.mean(every), stats.sem(every))
    told = found.replace("−", "-").rpartition("exponent ")[2]
    assert [float(t) for t in told.replace("[", "").replace("]", "").replace(",", "").split()] == pytest.approx(
        [np.mean(every), low, high], abs=0.005
    )
    golden(found)


def test_each_series_has_its_own_exponent(results):
    of = {**OF, "model.layers": [6, 8]}
    found = scatter(results, of=of, to=TO).finding
    assert "(6 layers) and" in found
    assert found.endswith("(8 layers)")
    assert f"{np.mean(slopes(results, 8)):.2f}".replace("-", "−") in found


def test_marks_are_geometric_means_of_both_with_the_interval_of_y(results):
    (chart,) = scatter(results, of=OF, to=TO).charts
    point = chart.points.filter(along=4).row(0, named=True)
    x, y = matrix(results, "hidden_norm_sq", "sum")[:, 3], np.log(matrix(results, "gradient_norm", "w2")[:, 3])
    low, high = stats.t.interval(0.95, 9, y.mean(), stats.sem(y))
    assert point["x"] == pytest.approx(stats.gmean(x))
    assert [math.log(point[k]) for k in ("estimate", "low", "high")] == pytest.approx([y.mean(), low, high])
    assert chart.seeds.height == 60
    assert chart.seeds.filter(seed=2, along=4)["x"].item() == pytest.approx(x[1])


def test_a_law_runs_through_the_middle_of_all_marks(results, golden):
    (chart,) = scatter(results, of=OF, to=TO, theory=[TheoryLine(law="1 / sqrt(x)", through="middle")]).charts
    (layer,) = [each for each in chart.spec["layer"] if each["mark"]["type"] == "line" and "detail" in each["encoding"]]
    ends = chart.spec["datasets"][layer["data"]["name"]] if "name" in layer["data"] else layer["data"]["values"]
    a, *_, b = [(math.log(end["x"]), math.log(end["y"])) for end in ends]
    assert (b[1] - a[1]) / (b[0] - a[0]) == pytest.approx(-0.5)
    middle = [np.log(chart.points[c].to_numpy()).mean() for c in ("x", "estimate")]
    assert a[1] - 0.5 * (middle[0] - a[0]) == pytest.approx(middle[1])
    golden(chart.caption)


def test_it_can_be_drawn_and_says_what_is_drawn(results):
    section = scatter(results, of=OF, to=TO)
    (chart,) = section.charts
    assert to_svg(spec_with_data(chart)).startswith("<svg")
    for words in ("against squared hidden norm", "one per seed and layer", "95 % Student interval", "over 10 seeds"):
        assert words in chart.caption
    assert set(section.rows["sites"]["quantity"]) == {"gradient_norm", "hidden_norm_sq"}


def test_places_with_one_number_only_are_not_drawn(results, golden):
    sites = results.tables["sites"]
    without = sites.filter((pl.col("quantity") != "hidden_norm_sq") | (pl.col("layer") != 3))
    partial = Results(results.runs, results.axes, {**results.tables, "sites": without})
    (chart,) = scatter(partial, of=OF, to=TO).charts
    assert chart.points["along"].to_list() == [1, 2, 4, 5, 6]
    sites = without.filter((pl.col("quantity") != "hidden_norm_sq") | (pl.col("layer") < 3))
    few = Results(results.runs, results.axes, {**results.tables, "sites": sites})
    golden(scatter(few, of=OF, to=TO).finding)


def test_a_selection_without_one_quantity_is_refused(results):
    with pytest.raises(LabError, match="names no quantity"):
        scatter(results, of=PRE, to=TO)
