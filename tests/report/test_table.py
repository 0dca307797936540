"""A quantity as a table: numbers, lines and words, from the page to the files."""

import json
import math
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy import stats

from lnlab.analyse.statistics.intervals import Interval
from lnlab.errors import LabError
from lnlab.report.charts.render import to_svg
from lnlab.report.data.table_cells import agrees_with_printed
from lnlab.report.page.figures import spec_with_data
from lnlab.report.sections.table import table
from lnlab.report.theme import HEATMAP_COLOURS
from lnlab.report.write import write_report
from lnlab.tables import Results
from tests.report.conftest import changed

WHERE = {"stack": "decoder", "tensor": "w2", "layer": "last", "decoder.cross_attention": True, "model.tied": "target"}
SIZES = {"quantity": "gradient_norm", "rows": "model.layers", "columns": "placement", "where": WHERE}


def values(results, placement, layers):
    of = results.tables["sites"].filter(quantity="gradient_norm", stack="decoder", tensor="w2", layer=layers)
    return of.filter(variant=f"{placement}-{layers}-True-target").sort("seed")["value"].to_numpy()


def texts(section):
    return [[text for text, _ in line] for line in section.tables[0].grid.rows]


@pytest.fixture(scope="module")
def three(results):
    return table(results, **SIZES, statistics=["mean", "geometric_mean", "median"])


def test_every_cell_is_an_estimate_over_seeds_with_its_interval(results, three):
    x = values(results, "pre", 10)
    logs = np.log(x)
    expected = {
        "mean": (x.mean(), *stats.t.interval(0.95, 9, x.mean(), stats.sem(x))),
        "geometric mean": np.exp([logs.mean(), *stats.t.interval(0.95, 9, logs.mean(), stats.sem(logs))]),
        "median": (np.median(x), *stats.quantile_test(x, p=0.5).confidence_interval(0.95)),
    }
    rows = three.tables[0].rows
    for statistic, numbers in expected.items():
        (row,) = rows.filter(row="10", column="Pre-LN", statistic=statistic).iter_rows(named=True)
        assert [row[k] for k in ("estimate", "low", "high")] == pytest.approx(numbers)
    assert rows.height == 5 * 2 * 3
    assert set(rows["n"]) == {10}


def test_readers_see_a_line_a_statistic_in_the_order_of_the_plan(three):
    shown = three.tables[0].grid
    assert shown.headings == ("layers", "", "Post-LN", "Pre-LN")
    assert [line[0] for line in texts(three)] == ["6", "", "", "8", "", "", "10", "", "", "12", "", "", "14", "", ""]
    assert [line[1] for line in texts(three)][:4] == ["mean", "geometric mean", "median", "mean"]
    assert texts(three)[0][2].startswith("1.9")
    assert " [" in texts(three)[0][2]
    for words in ("ean over 10 seeds", "95 % interval", "between two order statistics", "Frobenius norm"):
        assert words in three.tables[0].caption


def test_printed_numbers_stand_below_ours_as_they_are_written(results, golden):
    printed = {"post": {"6": "1.60", "14": 0.001, "7": 3}, "none": {"6": 1}}
    section = table(results, **SIZES, published=printed)
    lines = texts(section)
    assert lines[1] == ["", "published", "1.60", "–"]
    assert lines[-1] == ["", "published", "0.001", "–"]
    assert [line[1] for line in lines].count("published") == 2
    golden(section.tables[0].caption)
    assert section.tables[0].rows.filter(statistic="published", row="6")["estimate"].to_list() == [1.6]


def test_the_heading_says_how_many_printed_numbers_agree_and_which_is_furthest(results, golden):
    mean = values(results, "post", 6).mean()
    printed = {"post": {"6": f"{mean:.2f}"}, "pre": {"14": "3.5"}}
    section = table(results, **SIZES, published=printed)
    times = f"{values(results, 'pre', 14).mean() / 3.5:.2g}"
    assert section.finding.startswith("Of 2 published numbers, 1 ")
    assert f"Pre-LN at 14 layers, where ours is {times} times" in section.finding
    golden(section.finding)
    span = table(results, **SIZES).finding
    golden(span)


@pytest.mark.parametrize(
    ("one", "text"), [(0.1, "0.1, all seeds agree"), (0.3, "0.1 [0.1, 0.1]")], ids=["equal", "one differs"]
)
def test_seeds_with_one_median_agree_only_where_they_are_equal(results, one, text):
    alike = changed(results, pl.when(pl.col("seed") == 1).then(one).otherwise(0.1), pl.col("layer") == 10)
    cells = {cell for line in texts(table(alike, **SIZES, statistics=["median"])) for cell in line}
    assert text in {cell.replace("\u00a0", " ") for cell in cells}


@pytest.mark.parametrize(
    ("printed", "fits"), [("0.000", True), ("0.0", True), ("0.002", True), ("0.003", False), ("-1", False)]
)
def test_a_printed_number_stands_for_all_that_round_to_it(printed, fits):
    assert agrees_with_printed(Interval(1e-3, 4e-4, 1.6e-3, 1.0, 10), printed) is fits


def test_two_numbers_of_a_seed_in_a_cell_are_refused_with_what_tells_them_apart(results, golden):
    where = {k: v for k, v in WHERE.items() if k != "model.tied"}
    with golden.raises(LabError):
        table(results, **SIZES | {"where": where})


def test_words_make_rows_and_columns_of_sites_too(results):
    where = {"layer": 6, "model.layers": 6, "decoder.cross_attention": True, "model.tied": "target", "tensor": "w2"}
    section = table(results, quantity="gradient_norm", rows="placement", columns="stack", where=where)
    assert section.tables[0].grid.headings == ("placement", "encoder", "decoder")
    assert [line[0] for line in texts(section)] == ["Post-LN", "Pre-LN"]


def test_what_is_not_finite_or_has_no_logarithm_is_left_out_and_said(results, golden):
    here = (pl.col("variant") == "post-6-True-target") & (pl.col("seed") == 3)
    spoiled = table(changed(results, pl.lit(math.inf), here), **SIZES)
    golden(spoiled.tables[0].caption)
    assert "over 9 to 10 seeds" in spoiled.tables[0].caption
    negative = table(changed(results, -pl.col("value"), here), **SIZES, statistics=["geometric_mean"])
    assert texts(negative)[0][1] == "–"


def test_one_seed_has_no_interval_and_nothing_measured_is_a_sentence(results, golden):
    one = Results(results.runs, results.axes, {**results.tables, "sites": results.tables["sites"].filter(seed=1)})
    assert all("[" not in text for line in texts(table(one, **SIZES)) for text in line)
    bare = Results(results.runs, results.axes, {n: t.clear() for n, t in results.tables.items()})
    golden(table(bare, **SIZES).finding)


def test_page_latex_csv_and_notebook_hold_it(facts, results, tmp_path):
    chosen = replace(facts, sections=({"kind": "table", "title": "T", "published": {"post": {"6": "1.60"}}, **SIZES},))
    page = write_report(tmp_path, chosen, results, []).files[0].read_text()
    assert "<span>Table 1. Gradient norm" in page
    assert '<td class="n">1.60</td>' in page
    assert "& published & 1.60 & -- \\\\" in (tmp_path / "tables/table-1.tex").read_text()
    exact = pl.read_csv(tmp_path / "tables/table-1.csv")
    assert exact["gradient norm"][0] == float(f"{values(results, 'post', 6).mean():.8e}")
    cells = json.loads((tmp_path / "notebook.ipynb").read_text())["cells"]
    (code,) = (c for c in cells if "".join(c["source"]) == 'pl.read_csv("tables/table-1.csv")')
    assert "".join(code["outputs"][0]["data"]["text/plain"]) == str(exact)


def test_a_matrix_shows_the_first_statistic_of_every_cell_on_shades_in_order(results):
    section = table(results, **SIZES, statistics=["median", "mean"], matrix=True)
    (chart,) = section.charts
    for place, placement in enumerate(("post", "pre")):
        for layers in (6, 8, 10, 12, 14):
            x = values(results, placement, layers)
            row = chart.points.filter(series=str(layers), x=float(place)).row(0, named=True)
            assert [row[k] for k in ("estimate", "low", "high", "n")] == pytest.approx(
                [np.median(x), x.min(), x.max(), 10]
            )
    scale = chart.spec["layer"][0]["encoding"]["color"]["scale"]
    levels = np.sort(chart.points["estimate"].unique())
    shades = [scale["range"][k] for k in np.searchsorted(scale["domain"], levels)]
    assert [HEATMAP_COLOURS.index(shade) for shade in shades] == sorted(HEATMAP_COLOURS.index(s) for s in shades)
    assert len(scale["range"]) == len(levels)
    svg = to_svg(spec_with_data(chart))
    assert all(f">{text}<" in svg for text in ("Post-LN", "Pre-LN", "6", "14", f"{levels[0]:.3g}"))
    assert not table(results, **SIZES).charts
