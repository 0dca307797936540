"""Small multiples: every line from 0 to 1, its ends as a ratio, and nothing that cannot be drawn is lost."""

import json
import math
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy import stats

from lnlab.errors import LabError
from lnlab.report.charts.render import to_svg
from lnlab.report.charts.room import crowded_at_foot
from lnlab.report.data import profiles
from lnlab.report.data.profiles import collect_profiles
from lnlab.report.page.figures import spec_with_data
from lnlab.report.sections.small_multiples import small_multiples
from lnlab.report.write import write_report
from tests.report.conftest import changed
from tests.support.golden import holding

W2 = {"stack": "decoder", "tensor": "w2"}
PATHS = ("method", "model.layers")
PRE = 'Pre-LN, "quoted" \\ σ'
LINES = ("6 layers", "8 layers", "10 layers", "12 layers", "14 layers")


def variant(placement, layers):
    return pl.col("variant") == f"{placement}-{layers}-True-target"


def test_panels_and_lines_are_in_the_order_of_the_spec_and_every_line_goes_from_0_to_1(methods):
    found = collect_profiles(methods, "gradient_norm", W2, PATHS, "layer")
    assert (found.panels, found.names) == (("Post-LN", PRE), LINES)
    for layers in (6, 14):
        line = found.points.filter(panel=PRE, series=f"{layers} layers")
        assert line["x"].to_list() == pytest.approx(np.linspace(0, 1, layers))
        assert set(line["line"]) == {LINES.index(f"{layers} layers")}
    assert found.notes == {"Post-LN": "", PRE: ""}
    assert found.left_out == ()


def test_an_end_is_the_last_over_the_first_within_each_seed_and_then_over_seeds(methods):
    end = collect_profiles(methods, "gradient_norm", W2, PATHS, "layer").line_ends["Post-LN", "8 layers"]
    rows = methods.tables["sites"].filter(variant("post", 8), stack="decoder", tensor="w2", quantity="gradient_norm")
    first, last = (rows.filter(layer=layer).sort("seed")["value"].to_numpy() for layer in (1, 8))
    logs = np.log(last / first)
    low, high = stats.t.interval(0.95, 9, logs.mean(), stats.sem(logs))
    found = (end.ratio.estimate, end.ratio.low, end.ratio.high)
    assert found == pytest.approx(tuple(np.exp([logs.mean(), low, high])))
    assert (end.why, end.seeds, end.ratio.n) == ("", 10, 10)


def test_a_method_that_is_exactly_0_keeps_its_panel_and_says_so(methods):
    section = small_multiples(changed(methods, pl.lit(0.0), variant("pre", 6) | variant("pre", 14)), **ASKED)
    (chart,), (table,) = section.charts, section.tables
    told = chart.points.filter(panel=PRE, series="14 layers")
    assert (told["estimate"].null_count(), set(told["n"])) == (14, {0})
    assert "6, 14: exactly 0" in to_svg(spec_with_data(chart)).replace("</tspan>", "")
    cells = {row[0][0]: [text for text, _ in row[1:]] for row in table.grid.rows}
    assert (cells[PRE][0], cells[PRE][4]) == ("exactly 0", "exactly 0")
    assert table.rows.filter(panel=PRE, line="6 layers").row(0)[2:] == (None, None, None, 0, 10, "exactly 0")
    assert section.finding.endswith(f"exactly 0 in {PRE}")
    whole = collect_profiles(
        changed(methods, pl.lit(0.0), pl.col("variant").str.starts_with("pre")), "gradient_norm", W2, PATHS, "layer"
    )
    assert whole.notes[PRE] == "exactly 0"
    assert set(whole.points["panel"]) == {"Post-LN", PRE}


ASKED = {"quantity": "gradient_norm", "where": W2}


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_what_is_not_finite_is_a_result(methods, value, golden):
    gone = variant("pre", 14) | (variant("pre", 12) & (pl.col("layer") > 6))
    section = small_multiples(changed(methods, pl.lit(value), gone), **ASKED)
    cells = {row[0][0]: [text for text, _ in row[1:]] for row in section.tables[0].grid.rows}
    assert cells[PRE][3:] == ["not finite", "not finite"]
    drawn = to_svg(spec_with_data(section.charts[0]))
    golden(holding(drawn, "12: not finite"))
    assert "14: not finite<" in drawn
    golden(section.charts[0].caption)
    assert section.finding.endswith(f"not finite in {PRE}")


def test_a_seed_without_a_ratio_is_counted(methods):
    one = variant("post", 6) & (pl.col("seed") == 3) & (pl.col("layer") == 6)
    for value, why in ((0.0, "exactly 0 in part"), (math.nan, "not finite in part")):
        section = small_multiples(changed(methods, pl.lit(value), one), **ASKED)
        assert section.tables[0].grid.rows[0][1][0].endswith(" (9 of 10 seeds)")
        assert f"6: {why}" in to_svg(spec_with_data(section.charts[0]))
    first = variant("post", 6) & (pl.col("layer") == 1)
    assert small_multiples(changed(methods, pl.lit(0.0), first), **ASKED).tables[0].grid.rows[0][1][0] == "0 at one end"


def test_the_heading_names_the_extremes_of_the_last_line(methods, golden):
    finding = small_multiples(methods, **ASKED).finding
    ratio = {
        n: e.ratio.estimate
        for (n, line), e in collect_profiles(methods, "gradient_norm", W2, PATHS, "layer").line_ends.items()
        if line == LINES[-1]
    }
    most, least = f"{ratio['Post-LN']:.2g}", f"{ratio[PRE]:.2g}"
    assert f"most in Post-LN (by a factor of {most} " in finding
    assert f"most in {PRE} (to {least} times " in finding
    golden(finding)


def test_an_axis_may_end_before_its_lines_which_then_say_how_far_they_go(methods, golden):
    (chart,) = small_multiples(methods, **ASKED, between=(0.5, 1.5)).charts
    points = chart.points.group_by("panel").agg(pl.min("estimate").alias("low"), pl.max("estimate").alias("high"))
    ends = {panel: (f"{low:.2g}", f"{high:.2g}") for panel, low, high in points.iter_rows()}
    drawn = to_svg(spec_with_data(chart))
    assert f"down to {ends['Post-LN'][0]}, up to {ends['Post-LN'][1]}<" in drawn
    assert f"down to {ends[PRE][0]}<" in drawn
    golden(chart.caption)
    assert chart.spec["spec"]["layer"][1]["encoding"]["y"]["scale"]["domain"] == [0.5, 1.5]
    wide = small_multiples(methods, **ASKED, between=(1e-6, 100)).charts[0]
    assert "says how far" not in wide.caption
    for wrong in ((0, 1), (2, 1), (-1, 1)):
        with golden.raises(LabError):
            small_multiples(methods, **ASKED, between=wrong)


def test_a_long_line_is_drawn_in_fewer_places_with_its_ends_and_judged_in_all(methods, monkeypatch):
    monkeypatch.setattr(profiles, "MAX_PROFILE_POINTS", 4)
    found = collect_profiles(methods, "gradient_norm", W2, PATHS, "layer")
    places = {line: found.points.filter(panel=PRE, series=line)["x"].to_list() for line in LINES}
    assert places["14 layers"] == pytest.approx([0, 4 / 13, 8 / 13, 12 / 13, 1])
    assert places["6 layers"] == pytest.approx([0, 2 / 5, 4 / 5, 1])
    assert found.thinned
    assert found.seeds.group_by("panel", "series", "x").len()["len"].unique().to_list() == [10]
    monkeypatch.undo()
    whole = collect_profiles(methods, "gradient_norm", W2, PATHS, "layer")
    assert not whole.thinned
    assert whole.line_ends == found.line_ends
    assert "Long lines" not in small_multiples(methods, **ASKED).charts[0].caption


def test_other_paths_and_columns_make_panels_and_lines_too(methods):
    where = {"tensor": "w2", "model.layers": 6}
    found = collect_profiles(methods, "gradient_norm", where, ("stack", "method"), "layer")
    assert (set(found.panels), found.names) == ({"encoder", "decoder"}, ("Post-LN", PRE))
    assert to_svg(
        spec_with_data(
            small_multiples(methods, quantity="gradient_norm", where=where, panels="stack", lines="method").charts[0]
        )
    )


def test_two_numbers_of_a_seed_at_one_place_are_refused(methods, golden):
    with golden.raises(LabError):
        small_multiples(methods, quantity="gradient_norm", where={"stack": "decoder"})


@pytest.fixture(scope="module")
def folder(tmp_path_factory, facts, methods):
    out = tmp_path_factory.mktemp("reports") / "zoo"
    section = {"kind": "small_multiples", **ASKED, "title": "Every method"}
    gone = changed(methods, pl.lit(0.0), variant("pre", 6))
    write_report(out, replace(facts, sections=(section,)), gone, [])
    return out


def test_every_file_of_the_page_has_the_table(folder, golden):
    page, tex = (folder / "index.html").read_text(), (folder / "tables/table-1.tex").read_text()
    assert page.count("exactly 0") >= 2
    golden(holding(page, "What each method"))
    assert r"exactly 0 &" in tex
    exact = pl.read_csv(folder / "tables/table-1.csv")
    assert exact.filter(pl.col("note") == "exactly 0")["layers"].to_list() == ["6 layers"]
    assert json.loads((folder / "figures/figure-1.vl.json").read_text())["columns"] == 4


@pytest.mark.parametrize(
    ("estimates", "crowded"),
    [
        ([[1.0, 1e-9]], True),  # down through the foot
        ([[1.0, 2.0]], False),
        ([[1e-9, 1e-8]], False),  # wholly below the axis: nothing is drawn
        ([[1.0, 1e-9], [90.0, 1.0]], False),  # the head is no better
        ([[1e-5, 1e-5]], True),
    ],
)
def test_a_note_leaves_the_foot_of_a_panel_to_lines_that_go_through_it(estimates, crowded):
    rows = [{"series": str(n), "estimate": value} for n, line in enumerate(estimates) for value in line]
    assert crowded_at_foot(pl.DataFrame(rows), (1e-5, 100.0), 0.13) is crowded
