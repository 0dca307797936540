"""Drawings: valid, silent, the same bytes each time, and told apart without colour."""

import itertools
import re
from dataclasses import replace

import altair as alt
import jsonschema
import numpy as np
import polars as pl
import pytest
import vl_convert

from lnlab.errors import ReportError
from lnlab.report.charts import axes, line_charts, render
from lnlab.report.compose import build_parts
from lnlab.report.data.figure import POINT_SCHEMA, SEED_SCHEMA, FigureData
from lnlab.report.figures.drawing import diagram_data
from lnlab.report.figures.lines import Lines
from lnlab.report.page.figures import draw_parts, spec_with_data
from lnlab.report.section import Figure
from lnlab.report.theme import COLOURS, DASHES, PAPER_COLOUR, SHAPES, series_style

PROTAN = [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
DEUTAN = [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]


@pytest.fixture(scope="module")
def every(facts, results):
    """One drawing of each shape: lines, panels, sizes."""
    panels = {
        "kind": "depth_profile",
        "quantity": "gradient_norm",
        "where": facts.sections[0]["where"] | {"stack": ["encoder", "decoder"]},
    }
    chosen = replace(facts, sections=(facts.sections[0], panels, facts.sections[2]))
    return [chart for part in build_parts(chosen, results) for chart in part.section.charts]


def test_every_shape_is_drawn_without_a_word_from_the_converter(every, capfd):
    assert len(every) == 3
    for chart in every:
        text = vl_convert.vegalite_to_svg(
            spec_with_data(chart), vl_version=render.VEGA_LITE, show_warnings=True, allowed_base_urls=[]
        )
        assert "<path" in text
    told = capfd.readouterr()
    assert told.out + told.err == ""


def test_a_drawing_is_the_same_bytes_again_though_the_converter_counts_on(every):
    for chart in every:
        spec = spec_with_data(chart)
        assert render.to_svg(spec) == render.to_svg(spec)
        assert render.to_png(spec) == render.to_png(spec)
    clipped = {
        "mark": {"type": "line", "clip": True},
        "data": {"values": [{"a": 1}]},
        "encoding": {"x": {"field": "a"}},
    }
    first = render.to_svg(clipped)
    assert first == render.to_svg(clipped)
    assert re.findall(r'id="([^"]*)"', first) == ["d1"]
    assert "url(#d1)" in first


def test_every_drawing_names_itself_and_holds_its_data(every):
    for chart in every:
        spec = spec_with_data(chart)
        assert spec["description"] == chart.alt
        assert len(spec["datasets"]["points"]) == chart.points.height
        assert "url" not in str(spec["datasets"])


def test_a_drawing_that_is_not_valid_is_an_error_with_a_reason():
    with pytest.raises(ReportError, match="figure:"):
        render.to_svg({"mark": {"type": "no such mark"}, "data": {"values": [{"a": 1}]}})


class Broken(Figure):
    def drawing(self):
        return {"layer": [{"mark": {"type": "no such mark"}}]}


def test_a_chart_that_cannot_be_drawn_breaks_its_own_section_only(facts, results):
    good, other = build_parts(replace(facts, sections=facts.sections[:2]), results)
    broken = Broken(data=diagram_data(pl.DataFrame()), subject="", shows="", finding="", headings={}, statistic=None)
    shown = draw_parts([replace(good, section=replace(good.section, charts=(broken,))), other])
    assert "cannot be drawn" in shown[0].part.error
    assert shown[0].part.section is None
    assert [plate.number for plate in shown[1].figures] == [1]


def test_the_script_of_a_page_cannot_end_its_element():
    with pytest.raises(RuntimeError, match="</script"):
        render.vega_bundle('window.x = "</" + "script>"; window.y = "</script>"')


def test_the_script_is_put_together_once_and_again_where_the_kept_one_was_changed(tmp_path, monkeypatch):
    monkeypatch.setattr(render, "user_cache_path", lambda name: tmp_path / name)
    calls = []
    monkeypatch.setattr(
        render.vl_convert, "javascript_bundle", lambda text, **_: calls.append(text) or f"made of {text}"
    )
    bundle = render.vega_bundle.__wrapped__
    assert bundle("a") == bundle("a") == "made of a"
    assert bundle("b") == "made of b"
    assert calls == ["a", "b"]
    kept = next(path for path in tmp_path.rglob("*.js") if path.read_bytes().endswith(b" a"))
    for changed in (kept.read_bytes() + b";steal()", kept.read_bytes()[:-1], b"", b"\xff\n"):
        kept.write_bytes(changed)
        assert bundle("a") == "made of a"
    assert calls == ["a", "b", *4 * "a"]
    monkeypatch.setattr(render, "user_cache_path", lambda name: tmp_path / "a file" / name)
    (tmp_path / "a file").write_bytes(b"")
    assert bundle("c") == "made of c", "without a folder to keep it in it is made all the same"


def test_drawings_are_vega_lite_though_nobody_looks_while_they_are_made(every):
    for chart in every:
        alt.Chart.from_dict(dict(chart.spec))  # against the schema
    with pytest.raises(jsonschema.ValidationError):
        alt.Axis(orient="nowhere")  # and outside of lnlab's drawings Altair looks as ever


def linear(colour):
    values = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def contrast(a, b):
    high, low = sorted((float(linear(c) @ [0.2126, 0.7152, 0.0722]) for c in (a, b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def lab(colour, matrix):
    seen = np.clip(np.array(matrix) @ linear(colour), 0, 1)
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    x, y, z = (to_xyz @ seen) / np.array([0.9505, 1.0, 1.089])
    fx, fy, fz = (t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in (x, y, z))
    return np.array([116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)])


def test_the_first_colours_stand_out_from_paper():
    assert all(contrast(colour, "#fdfcf8") >= 3 for colour in COLOURS[:3])


def in_the_dark(colour):
    """``invert(1) hue-rotate(180deg)`` turns the figures of a page: the matrix of Filter Effects 1, section 7."""
    inverted = 1 - np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    luminance = np.tile([0.213, 0.715, 0.072], (3, 1))
    turned = np.clip((2 * luminance - np.eye(3)) @ inverted, 0, 1)
    return "#" + "".join(f"{round(value * 255):02x}" for value in turned)


@pytest.mark.parametrize("seen", [str, in_the_dark], ids=["light", "dark"])
def test_every_shade_is_seen_on_a_light_and_a_dark_page(seen):
    one = [series_style([colour] * 3, [n] * 3).colours for n, colour in enumerate(COLOURS)]
    shades = {shade for colours in one for shade in colours}
    assert len(shades) == 3 * len(COLOURS)
    assert {shade for shade in shades if contrast(seen(shade), seen(PAPER_COLOUR)) < 2} == set()


@pytest.mark.parametrize("matrix", [np.eye(3), PROTAN, DEUTAN], ids=["all", "protan", "deutan"])
def test_colours_differ_for_those_who_see_fewer(matrix):
    """Simulated after Machado et al. (2009); a difference of 10 in CIELAB is plain to see."""
    for a, b in itertools.combinations(COLOURS, 2):
        assert np.linalg.norm(lab(a, matrix) - lab(b, matrix)) >= 10, (a, b)


def test_no_two_series_share_dash_and_shape():
    names = [str(n) for n in range(len(SHAPES))]
    given = series_style(names, [0] * len(names))
    assert len(set(zip(given.dashes, given.shapes, strict=True))) == len(names)
    assert len(set(DASHES)) == len(DASHES)
    assert len(set(given.colours)) == len(names), "a family of eight has eight colours"


DRAWN_TOGETHER = [
    # Names of committed figures, with the families they are of.
    (("Post-LN", "Post-LN, warm-up", "Pre-LN", "Pre-LN, warm-up", "Admin", "Admin, warm-up", "Post-LN, SGD"), range(7)),
    (("Post-LN", "Warm-up", "Short warm-up", "RAdam", "GI-Adam", "Clipping", "Pre-LN", "T-Fixup"), range(8)),
    (("Post-LN", "Post-LN, warm-up", "T-Fixup", "Post-LN, GI-Adam", "Post-LN, slow q and k"), range(5)),
    (("Post-LN", "Pre-LN", "Admin", "DeepNorm", "Admin, log form", "Admin, constant form"), range(6)),
    (("Post-LN, 3 layers", "Post-LN, 6 layers", "Post-LN, 12 layers", "Admin, 3 layers", "Admin, 6 layers"), range(5)),
    (("All four", "No residual", "No residual, no warm-up", "No norm, no warm-up", "No norm, no Adam"), range(5)),
    (("Text", "Padded", "Buckets", "Words", "One length", "momentum 0.05", "shuffled", "LayerNorm"), range(3, 11)),
    (("no warm-up, 128", "no warm-up, 512", "no warm-up, 1024", "warm-up, 128", "warm-up, 512"), (0, 0, 0, 1, 1)),
    (tuple(f"variant {n}" for n in range(8)), (0, 0, 0, 0, 0, 0, 1, 9)),
]


@pytest.mark.parametrize(("names", "families"), DRAWN_TOGETHER)
def test_series_of_one_figure_differ_in_colour(names, families):
    colours = series_style(names, list(families)).colours
    for (a, one), (b, other) in itertools.combinations(zip(names, colours, strict=True), 2):
        assert np.linalg.norm(lab(one, np.eye(3)) - lab(other, np.eye(3))) >= 10, (a, b)


def test_a_family_shares_a_hue_unless_it_is_large():
    pair = series_style(["Post-LN", "Post-LN, warm-up", "Pre-LN", "Pre-LN, warm-up"], range(4)).colours
    assert [colour in ("#D55E00", "#7A3300") for colour in pair] == [True, True, False, False]
    five = series_style(["Post-LN", *(f"Post-LN, {word}" for word in "abcd"), "Pre-LN"], range(6)).colours
    assert len({*five} & {"#D55E00", "#7A3300", "#F2955A"}) == 2
    assert five[-1] == "#0072B2"


def test_a_panel_has_its_own_points_also_where_laws_are_drawn():
    """With two points in one panel and three in the other, five marks are drawn and not ten."""
    x, y = (axes.linear_axis(word, [0.0, 3.0]) for word in "xy")
    rows = [("a", 1), ("a", 2), ("b", 1), ("b", 2), ("b", 3)]
    values = [
        {"panel": p, "series": "s", "line": 0, "x": n, "estimate": n, "low": n, "high": n, "n": 2} for p, n in rows
    ]
    laws = [{"law": "1", "label": "1", "x": n, "y": 1, "last": n == 3} for n in (1, 2, 3)]
    spec = line_charts.lines_chart(["a", "b"], x, y, series_style(["s"], [0]), laws=laws) | {
        "datasets": {"points": values}
    }
    text = vl_convert.vegalite_to_svg(spec, vl_version=render.VEGA_LITE, allowed_base_urls=[])
    marks = re.findall(r'aria-roledescription="point"', text)
    assert len(marks) == 5


@pytest.mark.parametrize("log", [False, True])
def test_bars_of_series_at_one_place_stand_side_by_side(log, golden):
    places = [1.0, 2.0, 4.0, 4.1]
    figure = placed("abc", places, log=log)
    golden(figure.caption)
    svg = render.to_svg({**figure.spec, "datasets": {**figure.spec["datasets"], "points": figure.points.to_dicts()}})
    lines = [line for line in re.findall("<line[^>]*>", svg) if 'stroke-width="2"' in line]
    left = sorted(float(re.search(r"translate\(([\d.]+),", line)[1]) for line in lines)
    assert len(left) == 12
    assert min(b - a for a, b in itertools.pairwise(left)) > 1.5
    groups = [left[n : n + 3] for n in range(0, 12, 3)]
    low, high = np.log(figure.x.domain) if log else figure.x.domain
    at = (np.log(places) if log else np.array(places)) / (high - low) * figure.spec["width"]
    middles = np.array([group[1] for group in groups])
    assert middles - middles[0] == pytest.approx(at - at[0], abs=0.2), "the middle one of three stands at its place"


def test_bands_and_places_of_their_own_stay_where_they_are():
    assert placed("ab", [1.0, 2.0], apart=0.1).apart == 0
    assert placed("ab", [1.0, 2.0]).apart > 0
    assert placed("ab", [1.0, 2.0], spread="band").apart == 0


def placed(names, places, *, apart=0.0, log=False, spread="bars"):
    """A mark of every series at each place, of each further series so far apart."""
    rows = [
        {"panel": None, "series": s, "line": k, "x": x + apart * k, "estimate": 1.0, "low": 0.5, "high": 2.0, "n": 5}
        for k, s in enumerate(names)
        for x in places
    ]
    points, seeds = pl.DataFrame(rows, schema=POINT_SCHEMA), pl.DataFrame(schema=SEED_SCHEMA)
    families = tuple(range(len(names)))
    data = FigureData(seeds=seeds, points=points, names=tuple(names), families=families, missing="", rows={})
    words = {"headings": {}, "shows": "", "finding": "", "subject": "A number", "statistic": None}
    x, y = axes.axis_at_values("x", places, log=log), axes.linear_axis("y", [0.5, 2.0])
    return Lines(data=data, x=x, y=y, spread=spread, **words)
