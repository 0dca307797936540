"""Curves: means over the runs that went on, thinned with their extremes; divergence, epochs, bits and levels."""

import json
import math
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from scipy import stats

from lnlab.errors import LabError
from lnlab.report.charts.render import to_svg
from lnlab.report.data.curve_windows import MAX_CURVE_POINTS
from lnlab.report.figures.findings import not_told_apart
from lnlab.report.figures.training import compared_arms, ends_in_words
from lnlab.report.page.figures import spec_with_data
from lnlab.report.sections.curves import curves
from lnlab.report.words.wording import format_short
from lnlab.report.write import write_report
from lnlab.tables import Results

ONE = {"optimizer.lr": 1e-3}
NLL = {"quantity": "nll", "where": ONE}


def with_curves(results, change):
    return Results(results.runs, results.axes, {**results.tables, "curves": change(results.tables["curves"])})


def test_a_line_is_the_mean_of_its_seeds_with_its_student_interval(whole, course, golden):
    (chart,) = curves(whole, **NLL).charts
    values = [float(course("pre", 1e-3, seed, 60)) + 0.2 for seed in range(1, 6)]
    row = chart.points.filter(series="Pre-LN", x=60).row(0, named=True)
    low, high = stats.t.interval(0.95, 4, np.mean(values), stats.sem(values))
    assert [row[k] for k in ("estimate", "low", "high", "n")] == pytest.approx([np.mean(values), low, high, 5])
    golden(chart.caption)


def test_losses_of_single_batches_are_means_over_windows_with_the_batches_behind(whole, golden):
    (chart,) = curves(whole, quantity="loss", where=ONE).charts
    every = whole.tables["curves"].filter(pl.col("quantity") == "loss", pl.col("split") == "train")
    ours = every.filter(pl.col("run").str.starts_with("pre-0.001")).sort("step")
    drawn = chart.points.filter(panel="train", series="Pre-LN")
    windows = MAX_CURVE_POINTS // 2
    of_window = [[step for step in range(0, 201, 2) if step // 2 * windows // 101 == n] for n in range(windows)]
    assert drawn["x"].to_list() == pytest.approx([np.mean(steps) for steps in of_window])
    for steps, row in zip(of_window, drawn.iter_rows(named=True), strict=True):
        seeds = [ours.filter(pl.col("step").is_in(steps), seed=seed)["value"].mean() for seed in range(1, 6)]
        low, high = stats.t.interval(0.95, 4, np.mean(seeds), stats.sem(seeds))
        assert [row[k] for k in ("estimate", "low", "high")] == pytest.approx([np.mean(seeds), low, high])
    golden(chart.caption)
    behind = [rows for rows in chart.spec["datasets"].values() if rows and "estimate" in rows[0]]
    assert {row["series"] for row in behind[0]} == {"Post-LN", "Pre-LN"}
    assert max(row["x"] for row in behind[0]) == 200
    evaluated = chart.points.filter(panel="validation", series="Pre-LN")
    assert set(evaluated["x"]) <= set(whole.tables["curves"].filter(split="validation")["step"])


def test_the_axis_of_a_loss_ends_above_the_entropy_and_marks_lines_that_begin_higher(whole):
    (chart,) = curves(whole, **NLL).charts
    entropy = whole.tables["curves"].filter(quantity="unigram_entropy")["value"].mean()
    _, high = chart.spec["layer"][0]["encoding"]["y"]["scale"]["domain"]
    ends = chart.points.sort("x").group_by("series").last()["estimate"].max()
    first = chart.points.sort("x").group_by("series").first()["estimate"]
    assert high == pytest.approx(1.1 * max(entropy, ends))
    assert first.min() > high, "each line begins above"
    (arrows,) = _arrows(chart)
    assert {row["series"] for row in arrows} == {"Post-LN", "Pre-LN"}
    assert all(row["value"] == high for row in arrows)
    assert f" continue up to {format_short(first.max())}." in chart.caption


def _arrows(chart):
    names = {"series", "x", "value", "furthest"}
    return [rows for rows in chart.spec["datasets"].values() if rows and set(rows[0]) == names]


def rows_of_dashed(chart):
    """Those of the thin dashed lines: runs that finished where too many others diverged."""
    (layer,) = [layer for layer in chart.spec["layer"] if layer["mark"].get("strokeDash") == [4, 3]]
    return chart.spec["datasets"][layer["data"]["name"]]


def test_a_diverged_run_is_in_no_mean_and_ends_with_a_cross_inside_the_axis(whole, course, golden):
    section = curves(whole, quantity="nll", where={"optimizer.lr": 3e-3, "placement": "post"})
    (chart,) = section.charts
    assert chart.points.is_empty(), "two of five finished: there is no mean of the survivors"
    assert section.finding == "3 of 5 runs diverged"
    ends = {float(course("post", 3e-3, seed, 200)) + 0.2 for seed in (2, 4)}
    assert {round(row["value"], 6) for row in rows_of_dashed(chart) if row["x"] == 200} == {
        round(end, 6) for end in ends
    }
    golden(chart.caption)
    text = json.dumps(spec_with_data(chart))
    assert text.count('"told": "seed') == 3
    rows = [rows for rows in chart.spec["datasets"].values() if rows and rows[0].get("told", "").startswith("seed")]
    top = chart.spec["layer"][0]["encoding"]["y"]["scale"]["domain"]
    assert all(top[0] <= row["value"] <= top[1] and row["x"] == 40 for each in rows for row in each)
    assert "NaN" not in to_svg(spec_with_data(chart))


def test_survivors_are_neither_ranked_nor_averaged_beside_variants_that_finish(whole):
    section = curves(whole, quantity="nll", where={"split": "validation"})
    (chart,) = section.charts
    lost = {row["series"] for row in rows_of_dashed(chart)}
    assert len(lost) == 1
    (name,) = lost
    assert name.endswith("(2 of 5 finished)")
    assert name not in set(chart.points["series"])
    assert "finished" not in section.finding.partition(";")[0]


def test_against_epochs_an_update_is_its_share_of_one(whole, golden):
    (chart,) = curves(whole, **NLL, x="epoch").charts
    assert chart.points["x"].unique().sort().to_list() == pytest.approx([n / 40 for n in range(0, 201, 20)])
    endless = with_curves(whole, lambda rows: rows.filter(pl.col("quantity") != "epoch"))
    with golden.raises(LabError):
        curves(endless, **NLL, x="epoch")


def test_the_inset_holds_the_rates_below_on_the_same_axis(whole):
    (chart,) = curves(whole, **NLL, inset=True).charts
    main, strip = chart.spec["vconcat"]
    stated = next(layer for layer in main["layer"] if "scale" in layer["encoding"].get("x", {}))
    across = [view["encoding"]["x"]["scale"]["domain"] for view in (stated, strip)]
    assert across[0] == across[1]
    rates = [row for rows in chart.spec["datasets"].values() for row in rows if "estimate" in row]
    assert max(row["estimate"] for row in rates) == pytest.approx(1e-3)
    assert len({row["series"] for row in rates}) == 1, "both variants have the same rates, which are drawn once"
    assert ">learning rate<" in to_svg(spec_with_data(chart))


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"A": 4.08, "B": 4.12}, "ends at 4.08 with A and 4.12 with B"),
        ({"A": 4.1, "B": 4.1}, "ends alike, at 4.1, with A and B"),
        ({"A": 4.09, "B": 4.1, "C": 4.14}, "ends at 4.09 with A, the lowest of 3, and at 4.14 with C, the highest"),
        ({"A": 4.1, "B": 4.100001, "C": 4.1}, "ends alike, at 4.1, in all 3 variants"),
    ],
)
def test_an_order_is_said_only_of_numbers_that_are_printed_apart(values, text):
    assert ends_in_words(values, "nll", {name: name for name in values}) == text


@pytest.mark.parametrize(
    ("second", "alike"),
    [
        ([0.95, 0.98, 0.96], True),
        ([0.90, 0.91, 0.895], False),  # apart within each seed
        ([math.inf, 0.98, 0.96], True),
    ],
)
def test_seeds_tell_two_values_apart_by_their_paired_interval(second, alike):
    first, other = (pl.DataFrame({"seed": [1, 2, 3], "value": v}) for v in ([0.97, 0.98, 0.96], second))
    assert not_told_apart(first, other) is alike
    assert not not_told_apart(first.head(1), other.head(1))


@pytest.mark.parametrize(
    ("values", "quantity", "families"),
    [
        ({"A, rate 0.1": 2.3, "A, rate 1": 2.9, "B, rate 1": 2.5, "B, rate 3": 2.6}, "nll", (0, 0, 1, 1)),
        ({"A, rate 0.1": 0.3, "A, rate 1": 0.9, "B, rate 1": 0.5}, "accuracy", (0, 0, 1)),
        ({"rate 0.1, A": 2.3, "rate 0.1, B": 2.4, "rate 1, A": 2.2, "rate 1, B": 2.9}, "loss", (0, 0, 1, 1)),
        ({"rate 0.1": 2.3, "rate 1": 2.9}, "nll", (0, 1)),
        (
            {"A, warm 0": 3.0, "A, warm 9": 1.0, "B, warm 0": 2.0, "B, warm 9": 4.0, "C, warm 9": 2.5},
            "nll",
            (0, 0, 1, 1, 2),
        ),
    ],
)
def test_a_heading_compares_arms_at_their_best_and_not_one_arm_with_itself(values, quantity, families, golden):
    arms = compared_arms(SimpleNamespace(names=tuple(values), families=families))
    golden(ends_in_words(values, quantity, arms))


def test_one_seed_missing_runs_and_nothing_measured_are_said(trained, golden):
    one = trained(seeds=(2,), missing=lambda placement, lr, seed: placement == "pre")
    section = curves(one, **NLL)
    golden(section.charts[0].caption)
    golden(section.missing)
    gone = trained(seeds=(1,), missing=lambda *_: True)
    golden(curves(gone, **NLL).finding)
    lost = trained(seeds=(1, 3), placements=("post",), rates=(3e-3,))
    section = curves(lost, quantity="loss", inset=True)
    assert (section.finding, section.missing) == ("2 of 2 runs diverged", "Of 2 runs, 2 diverged.")
    assert "NaN" not in to_svg(spec_with_data(section.charts[0]))


def test_numbers_of_finished_runs_that_are_not_finite_are_counted(whole, golden):
    here = (pl.col("run") == "pre-0.001-1") & (pl.col("step") == 60) & (pl.col("quantity") == "nll")
    value = pl.when(here).then(math.nan).otherwise("value").alias("value")
    spoiled = with_curves(whole, lambda rows: rows.with_columns(value))
    golden(curves(spoiled, **NLL).charts[0].caption)


def test_what_a_probe_measured_at_steps_is_a_curve_too(whole):
    nll = whole.tables["curves"].filter(pl.col("quantity") == "nll")
    sites = nll.with_columns(pl.lit("bleu").alias("quantity"), 30 - pl.col("value"))
    columns = whole.tables["sites"].columns
    lacking = [pl.lit(None, whole.tables["sites"].schema[c]).alias(c) for c in columns if c not in sites.columns]
    tables = {**whole.tables, "sites": sites.with_columns(lacking).select(columns)}
    (chart,) = curves(Results(whole.runs, whole.axes, tables), quantity="bleu", where=ONE).charts
    assert chart.points.height == 2 * 11
    assert chart.caption.startswith("BLEU (")


def test_it_is_drawn_again_from_its_own_rows_and_page_and_notebook_hold_it(whole, facts_of, tmp_path):
    made = curves(whole, quantity="loss", inset=True, x="epoch")
    empty = {name: table.clear() for name, table in whole.tables.items()}
    again = curves(Results(whole.runs, whole.axes, {**empty, **made.rows}), quantity="loss", inset=True, x="epoch")
    assert again.charts[0].points.equals(made.charts[0].points)
    assert again.finding == made.finding
    assert again.charts[0].caption == made.charts[0].caption
    assert json.dumps(spec_with_data(again.charts[0])) == json.dumps(spec_with_data(made.charts[0]))
    assert made.rows["curves"].height < whole.tables["curves"].height / 2
    given = facts_of(sections=({"kind": "curves", "quantity": "loss", "inset": True},))
    page, *_ = write_report(tmp_path, given, whole, []).files
    assert 'class="broken"' not in page.read_text()
    assert "alt.VConcatChart" in (tmp_path / "notebook.ipynb").read_text()
