"""More series than a reader tells apart have a panel each, and a drawing states an axis once."""

import copy
import json
import re

import altair as alt
import polars as pl
import pytest

from lnlab.report.charts import axes, render, training_curves
from lnlab.report.charts.training_curves import CROSS_PATH, Overlays
from lnlab.report.data.figure import POINT_SCHEMA, SEED_SCHEMA, FigureData
from lnlab.report.figures.lines import Lines
from lnlab.report.theme import series_style

NAMES = [*(f"variant {n}" for n in range(8)), 'it\'s \\ "odd"']


def rows(names=NAMES):
    return [
        {"panel": None, "series": s, "line": k, "x": x, "estimate": x + k, "low": x + k, "high": x + k + 1, "n": 5}
        for k, s in enumerate(names)
        for x in (1.0, 2.0, 3.0)
    ]  # fmt: skip


def lines(names, **more):
    points = pl.DataFrame(rows(names), schema=POINT_SCHEMA)
    seeds = pl.DataFrame(schema=SEED_SCHEMA)
    data = FigureData(seeds=seeds, points=points, names=tuple(names), families=(0,) * len(names), missing="", rows={})
    words = {"headings": {}, "shows": "", "finding": "", "subject": "A number", "statistic": None}
    x, y = axes.axis_at_values("x", [1.0, 2.0, 3.0]), axes.linear_axis("y", [0.5, 12.0])
    return Lines(data=data, x=x, y=y, **words, **more)


def svg_of(spec):
    return render.to_svg({**spec, "datasets": {**spec.get("datasets", {}), "points": rows()}})


@pytest.mark.parametrize("spread", ["band", "bars"])
def test_nine_series_have_nine_panels_with_their_own_marks(spread, golden):
    laws = [{"law": s, "label": f"law {k}", "series": s, "x": 1.0, "y": 2.0, "last": True} for k, s in enumerate(NAMES)]
    figure = lines(NAMES, spread=spread, laws=laws)
    alt.Chart.from_dict(copy.deepcopy(figure.spec))  # against the schema
    assert len(figure.spec["concat"]) == 9
    golden(figure.caption)
    assert "side by side" not in figure.caption
    svg = svg_of(figure.spec)
    texts = re.findall(r">([^<>]+)</t", svg)
    assert [texts.count(name) for name in NAMES[:8]] == [1] * 8
    assert [texts.count(f"law {k}") for k in range(9)] == [1] * 9, "a law stands in the panel of its series"
    assert svg.count('stroke="#c4c4c4"') == 81, "nine grey lines in each panel"
    for colour in figure.data.style.colours:
        assert svg.lower().count(f'stroke="{colour.lower()}" stroke-width="2.2"') == 1, "one line in its colour"


def test_eight_series_share_a_panel():
    assert "concat" not in lines(NAMES[:8]).spec
    assert "One panel" not in lines(NAMES[:8]).caption


def test_a_run_that_diverged_is_drawn_in_the_panel_of_its_series_alone():
    x, y = axes.linear_axis("training step t", [1.0, 3.0]), axes.linear_axis("loss", [0.0, 12.0])
    gone = [{"run": "r", "panel": None, "series": NAMES[4], "line": 4, "x": at, "value": 5.0 + at} for at in (1.0, 2.0)]
    overlays = Overlays(
        diverged=gone,
        crosses=[{"series": NAMES[4], "x": 2.0, "value": 7.0, "told": "seed 1"}],
        cuts=[{"series": NAMES[2], "x": 1.0, "value": 12.0, "furthest": 99.0}],
        rules=[{"y": 6.0, "label": "a level", "left": True, "above": True}],
    )
    spec = training_curves.training_curve_panels(x, y, series_style(NAMES, range(9)), overlays)
    alt.Chart.from_dict(copy.deepcopy(spec))
    holding = {
        what: [n for n, panel in enumerate(spec["concat"]) if what in json.dumps(panel)]
        for what in (json.dumps(CROSS_PATH), '"run"', "M0,-1L0.6")
    }
    assert holding == {json.dumps(CROSS_PATH): [4], '"run"': [4], "M0,-1L0.6": [2]}
    assert svg_of(spec).count('stroke-dasharray="3,3"') == 9, "the level is in all panels"


@pytest.mark.parametrize("names", [NAMES[:3], NAMES], ids=["one panel", "nine"])
@pytest.mark.parametrize("spread", ["band", "bars"])
def test_a_drawing_that_states_its_axes_once_is_the_same_drawing(monkeypatch, names, spread):
    short = lines(names, spread=spread).spec
    monkeypatch.setattr("lnlab.report.charts.vega_lite.say_axes_once", lambda spec: None)
    long = lines(names, spread=spread).spec
    assert len(json.dumps(short | {"config": {}})) < 0.85 * len(json.dumps(long | {"config": {}}))
    assert svg_of(short) == svg_of(long)
