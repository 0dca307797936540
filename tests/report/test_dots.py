"""Sorted rows of marks: their numbers against the rows, the reference, and what has a colour."""

import math

import numpy as np
import polars as pl
import pytest
from scipy import stats

from lnlab.errors import ReportError
from lnlab.report.charts.render import to_svg
from lnlab.report.page.figures import spec_with_data
from lnlab.report.sections.dots import dots
from lnlab.report.theme import GREY
from lnlab.tables import Results
from tests.report.conftest import changed

WHERE = {"stack": "decoder", "sublayer": "feed_forward", "tensor": "w2", "layer": "last", "model.tied": "target"}
WHERE |= {"model.layers": 6, "decoder.cross_attention": True}
OF = {"quantity": "gradient_norm", "where": WHERE, "rows": "placement"}
BY_DEPTH = {"quantity": "gradient_norm", "where": {**WHERE, "model.layers": [6, 8, 10, 12, 14]}, "rows": "model.layers"}


def measured(results, variant, layer=6):
    """The numbers of a variant by seed."""
    rows = results.tables["sites"].filter(quantity="gradient_norm", variant=variant, layer=layer, tensor="w2")
    return rows.filter(stack="decoder").sort("seed")["value"].to_numpy()


def interval(values):
    return stats.t.interval(0.95, len(values) - 1, np.mean(values), stats.sem(values))


def texts(chart):
    """What stands above the marks, from the top."""
    rows = spec_with_data(chart)["datasets"]
    return [row["text"] for name, part in rows.items() if name.startswith("data") for row in part if "text" in row]


def test_differences_are_taken_within_the_seed_and_sorted(results):
    (chart,) = dots(results, **OF, to={"placement": "post"}).charts
    difference = measured(results, "pre-6-True-target") - measured(results, "post-6-True-target")
    row = chart.points.row(0, named=True)
    assert chart.data.names == ("Pre-LN", "Post-LN"), "the lowest on top"
    assert row["estimate"] == pytest.approx(difference.mean())
    assert (row["low"], row["high"]) == pytest.approx(interval(difference))
    assert chart.seeds.filter(series="Pre-LN")["value"].to_numpy() == pytest.approx(difference)
    assert chart.points.row(1, named=True)["estimate"] == 0
    assert texts(chart)[:2] == [f"{row['estimate']:.2f}".replace("-", "−"), "reference"]


def test_ratios_are_geometric_means(results):
    (chart,) = dots(results, **OF, to={"placement": "post"}, scale="log").charts
    logs = np.log(measured(results, "pre-6-True-target") / measured(results, "post-6-True-target"))
    row = chart.points.row(0, named=True)
    assert row["estimate"] == pytest.approx(math.exp(logs.mean()))
    assert (row["low"], row["high"]) == pytest.approx(np.exp(interval(logs)))
    assert texts(chart)[0].startswith("×0.2")
    far = dots(
        changed(results, 1e-6 * pl.col("value"), pl.col("variant") == "pre-6-True-target"),
        **OF,
        to={"placement": "post"},
        scale="log",
    ).charts[0]
    assert texts(far)[0].endswith(" × 10⁻⁷")


def test_a_reference_may_be_none_of_the_rows(results):
    (chart,) = dots(results, **OF, to={"decoder.cross_attention": False}, called="none").charts
    assert texts(chart)[0] != "reference"
    assert chart.levels == {"none": 0.0}, "the line of the reference has its name"
    own = {variant: measured(results, variant) for variant in ("post-6-True-target", "post-6-False-target")}
    expected = (own["post-6-True-target"] - own["post-6-False-target"]).mean()
    assert chart.points.filter(series="Post-LN")["estimate"].item() == pytest.approx(expected)


def test_without_a_reference_the_numbers_themselves_are_drawn(results):
    (chart,) = dots(results, **OF).charts
    assert chart.points.filter(series="Post-LN")["estimate"].item() == pytest.approx(
        measured(results, "post-6-True-target").mean()
    )


def test_at_most_four_rows_have_a_colour(results):
    where = {**BY_DEPTH["where"], "placement": "post", "layer": "last"}
    few = colours(dots(results, **{**BY_DEPTH, "where": where}).charts[0])
    assert list(few.values()).count(GREY) == 3, "of five rows, all but the first and the last"
    named = dots(results, **{**BY_DEPTH, "where": where}, ink=["8 layers"]).charts[0]
    assert [name for name, colour in colours(named).items() if colour != GREY] == ["8 layers"]
    with pytest.raises(ReportError) as refused:
        dots(results, **{**BY_DEPTH, "where": where}, ink=["nobody"])
    assert [(issue.code, issue.place) for issue in refused.value.issues] == [("unknown-name", "ink")]


def colours(chart):
    scale = spec_with_data(chart)["layer"][0]["encoding"]["color"]["scale"]
    return dict(zip(scale["domain"], scale["range"], strict=True))


def test_it_is_drawn_and_read_again_from_its_own_rows(results):
    made = dots(results, **OF, to={"placement": "post"})
    kept = Results(results.runs, results.axes, {**results.tables, **made.rows})
    assert dots(kept, **OF, to={"placement": "post"}).charts[0].points.equals(made.charts[0].points)
    drawn = to_svg(spec_with_data(made.charts[0]))
    assert "NaN" not in drawn
    assert "Pre-LN" in drawn
