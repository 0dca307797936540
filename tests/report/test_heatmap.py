"""Heat maps: each cell is the mean over seeds of its sublayer and index, and nothing is left out in silence."""

import random
from itertools import product

import polars as pl
import pytest

from lnlab.errors import LabError
from lnlab.report.charts.render import to_png, to_svg
from lnlab.report.compose import ReportPart
from lnlab.report.facts import ReportFacts
from lnlab.report.page.figures import draw_parts, spec_with_data
from lnlab.report.page.notebook import notebook_text
from lnlab.report.sections.heatmap import heatmap
from lnlab.report.table import MAX_SHOWN_ROWS
from lnlab.report.theme import HEATMAP_COLOURS
from lnlab.tables import Results
from tests.support.results import results_of

SUBLAYERS = ("self_attention", "feed_forward")
QUANTITY = "residual_dependency"


def beta(method, seed, i, j):
    """Larger on the diagonal in Post-LN, even in Pre-LN."""
    return (0.6 if i == j else 0.1) + 0.02 * seed if method == "Post-LN" else 0.3 + 0.001 * i


def made(methods=("Post-LN", "Pre-LN"), layers=3, seeds=4, stacks=("encoder",)):
    setting, runs = {"encoder": {"layers": layers}, "decoder": {"layers": layers}}, []
    for method, seed in product(methods, range(1, seeds + 1)):
        sites = [
            {"quantity": QUANTITY, "stack": stack, "layer": (i + 1) // 2, "sublayer": SUBLAYERS[(i - 1) % 2]}
            | {"tensor": "out", "index": j, "value": beta(method, seed, i, j)}
            for stack in stacks
            for i in range(1, 2 * layers + 1)
            for j in range(i + 1)
        ]
        run = {"variant": method, "seed": seed, "setting": setting, "axes": {"method": method}}
        runs.append(run | {"sites": random.Random(0).sample(sites, len(sites))})
    return results_of(runs)


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


def test_two_numbers_of_a_seed_in_one_cell_are_refused(golden):
    once = made()
    twice = Results(once.runs, once.axes, {"sites": pl.concat([once.tables["sites"]] * 2)})
    with golden.raises(LabError):
        heatmap(twice, quantity=QUANTITY)


def test_more_cells_than_a_page_can_draw_are_refused_not_thinned(golden):
    with golden.raises(LabError):
        heatmap(made(("Post-LN",), layers=51, seeds=1), quantity=QUANTITY)


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
