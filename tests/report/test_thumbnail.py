"""The small drawing of a first figure: marks at their size, and no words that would be too small to read."""

import re

import pytest

from lnlab.report.charts.render import to_svg
from lnlab.report.charts.thumbnail import HEIGHT, WIDTH, thumbnail_spec
from lnlab.report.drawing import Drawing
from lnlab.report.write import write_report

ROWS = [{"x": x, "y": y, "panel": panel, "series": "a"} for panel in ("p", "q") for x, y in ((1, 1.0), (2, 3.0))]
ENCODING = {
    "x": {"field": "x", "type": "quantitative", "axis": {"title": "layer"}},
    "y": {"field": "y", "type": "quantitative", "title": "gradient norm"},
    "color": {"field": "series", "type": "nominal", "title": "placement"},
    "tooltip": [{"field": "y", "type": "quantitative"}],
}
LEADER = {"mark": {"type": "rule", "x2Offset": 9}, "encoding": {"x2": {"value": "width"}}}
LAYERS = [{"mark": "line"}, {"mark": {"type": "point"}}, {"mark": {"type": "text", "text": "word"}}, LEADER]
VIEW = {"layer": LAYERS, "encoding": ENCODING, "title": "a panel"}
SCHEMA = {"$schema": "https://vega.github.io/schema/vega-lite/v6.json", "datasets": {"points": ROWS, "unread": ROWS}}
SPECS = {
    "plain": {**SCHEMA, **VIEW, "data": {"name": "points"}},
    "facet": {**SCHEMA, "facet": {"field": "panel", "sort": ["q", "p"]}, "spec": VIEW, "data": {"name": "points"}},
    "rows and columns": {**SCHEMA, "facet": {"row": {"field": "panel"}}, "spec": VIEW, "data": {"name": "points"}},
    "stacked": {**SCHEMA, "vconcat": [{**VIEW, "data": {"name": "points"}}, {"mark": "bar"}]},
}


@pytest.mark.parametrize("kind", SPECS)
def test_it_has_the_marks_and_no_words(kind):
    small = thumbnail_spec(SPECS[kind])
    svg = to_svg(small)
    assert "<text" not in svg
    assert len(re.findall(r"<path[^>]*stroke=", svg)) >= 1
    width, height = map(float, re.search(r'width="([\d.]+)" height="([\d.]+)"', svg).groups())
    assert WIDTH <= width <= WIDTH + 10
    assert HEIGHT <= height <= HEIGHT + 10
    assert [layer["mark"] for layer in small["layer"]] == ["line"], "points repeat what the line shows"
    assert set(small["datasets"]) == {"points"}
    panels = {row["panel"] for row in small["datasets"]["points"]}
    assert panels == ({"q"} if kind == "facet" else {"p", "q"})


def test_a_report_has_one_where_it_has_a_figure(small, tmp_path):
    facts, results, verdicts = small
    for name, drawing in {
        "full": Drawing(),
        "lean": Drawing(lean=True),
        "one file": Drawing(lean=True, single_file=True),
    }.items():
        written = write_report(tmp_path / name, facts, results, verdicts, drawing=drawing).files
        drawings = [path.name for path in written if path.suffix == ".svg"]
        assert ("thumbnail.svg" in drawings) == (name != "one file"), name
