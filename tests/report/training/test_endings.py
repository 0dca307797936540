"""Outcomes, basins and times to a target: counts, medians with divergence ranked worst, and edges that are flagged."""

import math
import re
from statistics import median

import polars as pl
import pytest

from lnlab.report.charts.render import to_svg
from lnlab.report.data.basin_runs import SweepRuns
from lnlab.report.data.figure import SEED_SCHEMA, as_seeds
from lnlab.report.data.labels import SINGLE_SERIES
from lnlab.report.data.series import median_points
from lnlab.report.figures.basin import basin_finding
from lnlab.report.page.figures import spec_with_data
from lnlab.report.page.html import unbroken_names
from lnlab.report.sections.basin import basin
from lnlab.report.sections.outcomes import outcomes
from lnlab.report.write import write_report
from lnlab.select.quantity import SITE, STATE, quantities
from lnlab.tables import Results, table_schema

GRID = (3e-4, 1e-3, 3e-3)
END, SHARE = "toy_end", "toy_share"


def rows(results, name, value):
    """The last nll of each run as a quantity; infinite where it diverged."""
    last = results.tables["curves"].filter(pl.col("quantity") == "nll").sort("step").unique("run", keep="last")
    joined = last.join(results.runs.select("run", "status"), on="run", how="left").sort("run")
    sites = [pl.lit(None, table_schema("sites")[column]).alias(column) for column in SITE]
    return joined.select(*STATE, pl.lit(name).alias("quantity"), *sites, value=value)


def ended(results):
    return rows(results, END, pl.when(pl.col("status") == "diverged").then(math.inf).otherwise("value"))


def learned(results):
    return rows(
        results, SHARE, pl.when(pl.col("status") == "diverged").then(0.0).otherwise((5.5 - pl.col("value")) / 3)
    )


@pytest.fixture(autouse=True)
def two_more_quantities():
    for name, build in ((END, ended), (SHARE, learned)):
        quantities.register(name, of=("nll",))(build)
    yield
    for name in (END, SHARE):
        del quantities.entries[name]


@pytest.fixture(scope="module")
def grid(trained):
    """Three rates; in Pre-LN seed 5 has not run."""
    return trained(rates=GRID, missing=lambda placement, lr, seed: placement == "pre" and seed == 5)


def texts(section):
    return {line[0][0]: [text for text, _ in line] for line in section.tables[0].grid.rows}


def test_every_run_is_counted_once(grid, golden):
    section = outcomes(grid, numbers=[END])
    table = section.tables[0]
    heads = table.grid.headings
    lost, well = (texts(section)[f"{name}, learning rate 0.003"] for name in ("Post-LN", "Pre-LN"))
    assert lost[heads.index("finished")] == "2/5"
    assert lost[heads.index("diverged")] == "3/5 at step 60, 60, 60"
    assert (well[heads.index("finished")], well[heads.index("missing")]) == ("4/5", "1")
    golden(section.finding)
    counts = table.rows.filter(pl.col("what").is_in(["finished", "diverged", "missing"]))
    assert counts["estimate"].sum() == 30


def test_a_run_that_diverged_ranks_worst(grid, course):
    section = outcomes(grid, numbers=[END])
    assert texts(section)["Post-LN, learning rate 0.003"][-2] == "diverged [3.01,\u00a0diverged]"
    values = [float(course("pre", 1e-3, seed, 200)) + 0.2 for seed in range(1, 5)]
    row = section.tables[0].rows.filter(variant="Pre-LN, learning rate 0.001", what="toy end").row(0, named=True)
    assert [row[k] for k in ("estimate", "low", "high", "n")] == pytest.approx([median(values), *values[::3], 4])


def test_what_nobody_measured_has_no_column_and_no_run_is_a_sentence(grid, trained, golden):
    bare = outcomes(grid, numbers=["no_such_quantity"])
    assert not any("such" in head for head in bare.tables[0].grid.headings)
    none = trained(seeds=(1,), missing=lambda *_: True)
    golden(outcomes(none, numbers=[END]).finding)


def test_a_run_that_a_rule_stopped_early_is_finished_and_said(grid):
    runs = grid.runs.with_columns(done=pl.when(pl.col("run") == "pre-0.001-1").then(120).otherwise("done"))
    section = outcomes(Results(runs, grid.axes, grid.tables), numbers=[END])
    assert texts(section)["Pre-LN, learning rate 0.001"][1] == "4/5, 1 stopped early"


def test_a_basin_joins_medians_and_counts_what_diverged(grid, course, golden):
    section = basin(grid, quantity=END)
    (chart,) = section.charts
    values = [float(course("post", 1e-3, seed, 200)) + 0.2 for seed in range(1, 6)]
    row = chart.points.filter(series="Post-LN", x=1e-3).row(0, named=True)
    assert [row[k] for k in ("estimate", "low", "high", "n")] == pytest.approx(
        [median(values), values[0], values[-1], 5]
    )
    assert chart.points.filter(series="Post-LN", x=3e-3)["estimate"].item() is None, "three of five diverged"
    crosses = [row for rows in chart.spec["datasets"].values() for row in rows]
    assert [(row["series"], row["x"], row["label"]) for row in crosses] == [("Post-LN", 3e-3, "3/5")]
    best = median(values), course("pre", 1e-3, 2.5, 200) + 0.2
    assert re.findall(r"rate (\S+) \(toy end (\S+)\)", section.finding) == [("0.001", f"{loss:.2g}") for loss in best]
    golden(section.finding)
    assert "NaN" not in to_svg(spec_with_data(chart))
    assert chart.statistic.centre == "median"


def test_an_optimum_on_the_edge_of_the_grid_is_flagged(trained, golden):
    edge = trained(rates=(1e-3, 2e-3))
    finding = basin(edge, quantity=END).finding
    golden(finding)
    alone = trained(rates=(1e-3,))
    assert "of the grid" not in basin(alone, quantity=END).finding


def test_where_more_is_better_divergence_is_at_the_bottom(grid):
    (chart,) = basin(grid, quantity=SHARE, best="highest").charts
    (cross,) = [row for rows in chart.spec["datasets"].values() for row in rows]
    low, high = chart.spec["layer"][0]["encoding"]["y"]["scale"]["domain"]
    assert low < cross["y"] < low + 0.1 * (high - low)
    assert "at the bottom" in chart.caption
    assert chart.points.filter(series="Post-LN", x=3e-3)["estimate"].item() == 0.0


def test_a_series_of_which_all_runs_diverged_has_no_best(trained, golden):
    lost = trained(placements=("post",), rates=(3e-3, 4e-3), seeds=(1, 3))
    section = basin(lost, quantity=END)
    golden(section.finding)
    assert "NaN" not in to_svg(spec_with_data(section.charts[0]))


def test_whether_runs_have_learned_is_said_where_a_reference_says_it(grid, golden):
    """Two placements: of no reference there is no column, and the caption names the one that there is."""
    assert "learned" not in outcomes(grid, numbers=[END]).tables[0].caption
    section = outcomes(grid, where={"reference": {"placement": "pre"}}, numbers=[END])
    golden(section.tables[0].caption)


def test_page_notebook_and_folder_hold_them_and_give_them_again(grid, facts_of, tmp_path):
    given = facts_of(sections=({"kind": "outcomes", "numbers": [END]}, {"kind": "basin", "quantity": END}))
    page, *_ = write_report(tmp_path, given, grid, []).files
    text = page.read_text()
    assert 'class="broken"' not in text
    for section in (outcomes(grid, numbers=[END]), basin(grid, quantity=END)):
        assert f"<h2>{unbroken_names(section.finding)} <a" in text
    assert (tmp_path / "tables" / "table-1.tex").read_text().count("/5") >= 6


@pytest.mark.parametrize("second", [[2.0, 2.2, 2.1], [2.5, 2.7, 2.58]])
def test_a_basin_names_one_best_value_only_where_seeds_tell_it_from_the_next(second, golden):
    losses = {1e-4: [4.0, 4.1, 4.2], 1e-3: [2.05, 2.1, 2.15], 1e-2: second, 1e-1: [5.0, 5.1, 5.2]}
    drawn = as_seeds(
        pl.DataFrame(
            [(None, SINGLE_SERIES, 0, x, seed, v) for x, vs in losses.items() for seed, v in enumerate(vs)],
            schema=SEED_SCHEMA,
            orient="row",
        )
    )
    runs = SweepRuns(
        seeds=drawn, points=median_points(drawn), names=(SINGLE_SERIES,), missing="", rows={}, diverged=pl.DataFrame()
    )
    golden(basin_finding(runs, "learning rate", "lowest", "final_nll"))
