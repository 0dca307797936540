"""Heat maps: each cell is the mean over seeds of its sublayer and index, and nothing is left out in silence."""

import json
from itertools import pairwise

import polars as pl
import pytest

from lnlab.errors import LabError
from lnlab.report.charts.heatmap import HeatmapAxis
from lnlab.report.charts.render import to_png, to_svg
from lnlab.report.compose import ReportPart
from lnlab.report.facts import ReportFacts
from lnlab.report.page.figures import draw_parts, spec_with_data
from lnlab.report.page.notebook import notebook_text
from lnlab.report.sections.heatmap import heatmap
from lnlab.report.table import MAX_SHOWN_ROWS
from lnlab.report.theme import HEATMAP_COLOURS
from lnlab.tables import Results, frame, table_schema

SUBLAYERS = ("self_attention", "feed_forward")
QUANTITY = "residual_dependency"


def beta(method, seed, i, j):
    """Larger on the diagonal in Post-LN, even in Pre-LN."""
    return (0.6 if i == j else 0.1) + 0.02 * seed if method == "Post-LN" else 0.3 + 0.001 * i


def made(methods=("Post-LN", "Pre-LN"), layers=3, seeds=4, stacks=("encoder",)):
    runs, axes, sites = [], [], []
    for method in methods:
        for seed in range(1, seeds + 1):
            run, told = f"{method}-{seed}", {"variant": method, "seed": seed}
            setting = {"encoder": {"layers": layers}, "decoder": {"layers": layers}}
            runs.append({"run": run, "trajectory": run, "steps": 0, **told, "setting": json.dumps(setting)})
            axes.append({"run": run, "axis": "method", "value": json.dumps(method), "label": method})
            for stack in stacks:
                for i in range(1, 2 * layers + 1):
                    where = {"stack": stack, "layer": (i + 1) // 2, "sublayer": SUBLAYERS[(i - 1) % 2], "tensor": "out"}
                    row = {"run": run, **told, "step": 0, "quantity": QUANTITY, **where}
                    sites += [{**row, "index": j, "value": beta(method, seed, i, j)} for j in range(i + 1)]
    status = {"status": pl.String, "reason": pl.String}
    finished = [{**run, "status": "finished", "reason": None} for run in runs]
    front = {"run": pl.String, "variant": pl.String, "seed": pl.Int64, "step": pl.Int64}
    return Results(
        pl.DataFrame(finished, schema=dict(table_schema("runs")) | status),
        frame("axes", axes),
        {
            "sites": pl.DataFrame(sites, schema=front | dict(table_schema("sites"))).sample(
                fraction=1, shuffle=True, seed=0
            )
        },
    )


@pytest.fixture(scope="module")
def section():
    return heatmap(made(), quantity=QUANTITY)


def test_a_cell_is_the_mean_over_seeds_of_its_sublayer_and_index(section):
    (chart,) = section.charts
    assert chart.points.height == 2 * sum(range(2, 8))
    for panel, i, j in (("Post-LN", 5, 5), ("Post-LN", 6, 0), ("Pre-LN", 1, 1)):
        cell = chart.points.filter(panel=panel, line=i, x=j).row(0, named=True)
        assert cell["estimate"] == pytest.approx(sum(beta(panel, s, i, j) for s in range(1, 5)) / 4)
        assert (cell["n"], cell["series"]) == (4, str(i))


def test_the_upper_triangle_is_empty_and_panels_keep_the_order_of_the_spec(section):
    (chart,) = section.charts
    assert (chart.points["x"] <= chart.points["line"]).all()
    assert chart.spec["facet"]["sort"] == ["Post-LN", "Pre-LN"]


def test_the_heading_compares_the_diagonal_of_the_first_and_the_last_third(section):
    said = "the dependency on their own branch is 0.65 and 0.65 in Post-LN and 0.3 and 0.31 in Pre-LN"
    assert section.finding.endswith(f" sublayers, {said}")


def test_a_matrix_without_a_diagonal_is_told_by_its_range(golden):
    cut = made()
    sites = cut.tables["sites"].filter(pl.col("index") == 0)
    section = heatmap(Results(cut.runs, cut.axes, {"sites": sites}), quantity=QUANTITY)
    golden(section.finding)


def test_all_panels_share_one_scale_from_zero_to_the_largest_mean(section):
    (chart,) = section.charts
    stops = chart.spec["spec"]["encoding"]["color"]["scale"]["domain"]
    assert (stops[0], stops[-1]) == (0, pytest.approx(chart.points["estimate"].max()))
    assert len(stops) == len(HEATMAP_COLOURS)


def test_equal_differences_look_equal():
    """Lightness in Oklab falls by equal steps from one colour of the scale to the next."""
    levels = [lightness(colour) for colour in HEATMAP_COLOURS]
    steps = [one - two for one, two in pairwise(levels)]
    assert steps == pytest.approx([sum(steps) / len(steps)] * len(steps), rel=0.03)
    assert levels[0] - levels[-1] > 0.6


def lightness(colour: str) -> float:
    """L of Oklab, from sRGB (Ottosson, 2020)."""
    r, g, b = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (r, g, b))
    cones = (
        0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b,
        0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b,
        0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b,
    )
    return sum(w * c ** (1 / 3) for w, c in zip((0.2104542553, 0.7936177850, -0.0040720468), cones, strict=True))


def test_page_paper_and_notebook_show_the_same_cells(section):
    (shown,) = draw_parts([ReportPart(1, "", (), section)])
    (plate,) = shown.figures
    assert to_svg(spec_with_data(plate.chart)).count("<path") >= plate.chart.points.height
    assert to_png(plate.spec).startswith(b"\x89PNG")
    assert len(plate.table.rows) == min(plate.chart.points.height, MAX_SHOWN_ROWS)
    facts = ReportFacts(name="name", title="title", spec="spec", path="path", digest="digest", version="version")
    assert "alt.FacetChart" in notebook_text(facts, [], [shown])


def test_several_stacks_are_refused(golden):
    with golden.raises(LabError):
        heatmap(made(stacks=("encoder", "decoder")), quantity=QUANTITY)


def test_two_numbers_of_a_seed_in_one_cell_are_refused():
    once = made()
    twice = Results(once.runs, once.axes, {"sites": pl.concat([once.tables["sites"]] * 2)})
    with pytest.raises(LabError, match="seed 1 has 2 numbers at index 0"):
        heatmap(twice, quantity=QUANTITY)


def test_more_cells_than_a_page_can_draw_are_refused_not_thinned(golden):
    with golden.raises(LabError):
        heatmap(made(("Post-LN",), layers=51, seeds=1), quantity=QUANTITY)


def test_nothing_measured_is_said(golden):
    empty = made()
    section = heatmap(Results(empty.runs, empty.axes, {"sites": empty.tables["sites"].clear()}), quantity=QUANTITY)
    golden(section.finding)


@pytest.mark.parametrize(
    ("last", "ticks"), [(6, [0, 1, 2, 3, 4, 5, 6]), (12, [0, 2, 4, 6, 8, 10, 12]), (36, [0, 6, 12, 18, 24, 30, 36])]
)
def test_ticks_stand_at_round_places(last, ticks):
    assert HeatmapAxis("j", 0, last).ticks == ticks


def test_survivors_of_an_arm_that_diverges_are_not_averaged(golden):
    results = made(seeds=4)
    lost = pl.col("run").is_in(["Pre-LN-1", "Pre-LN-2"])
    sites = results.tables["sites"].with_columns(step=pl.lit(3, pl.Int64)).filter(~lost)
    runs = results.runs.with_columns(
        steps=pl.lit(3, pl.Int64), status=pl.when(lost).then(pl.lit("diverged")).otherwise("status")
    )
    drawn = heatmap(Results(runs, results.axes, {"sites": sites}), quantity=QUANTITY)
    (chart,) = drawn.charts
    assert set(chart.points["panel"]) == {"Post-LN"}
    golden(chart.caption)
