"""Tables of trained numbers: no mean of survivors, and no interval beyond what the numbers can be."""

import json

import polars as pl
import pytest
from scipy import stats

from lnlab.analyse.statistics.intervals import median_interval, t_interval
from lnlab.report.data.series import collect_series
from lnlab.report.data.table_cells import bounded_interval
from lnlab.report.sections.small_multiples import small_multiples
from lnlab.report.sections.table import table


def test_a_cell_whose_runs_diverged_says_how_many_finished(whole):
    where = {"split": "validation", "step": "last"}
    section = table(whole, quantity="nll", rows="optimizer.lr", columns="placement", where=where)
    (shown,) = section.tables
    cells = {line[0][0]: [text for text, _ in line[1:]] for line in shown.grid.rows}
    texts = [text for line in cells.values() for text in line]
    assert texts.count("2 of 5 finished") == 1
    assert sum("[" in text for text in texts) == len(texts) - 1
    assert shown.rows.height == len(texts) - 1, "nothing of the survivors is in the file either"


def test_the_largest_rate_that_trains_is_known_where_runs_diverge(whole):
    def texts(quantity, **where):
        (shown,) = table(whole, quantity=quantity, rows="placement", columns="model.layers", where=where).tables
        return [line[1][0] for line in shown.grid.rows]

    assert "7 of 10 finished" in texts("best_lr_nll")
    assert not any("finished" in text for text in texts("max_half_lr", reference="best"))


@pytest.mark.parametrize(("k", "n"), [(1, 2), (3, 10), (0, 5), (10, 10)])
def test_a_share_of_seeds_has_the_exact_interval(k, n):
    values = [1.0] * k + [0.0] * (n - k)
    found = bounded_interval(t_interval(values), values, fraction=True)
    exact = stats.binomtest(k, n).proportion_ci(method="exact")
    assert (found.estimate, found.low, found.high) == pytest.approx((k / n, exact.low, exact.high))


@pytest.mark.parametrize("interval", [t_interval, median_interval])
@pytest.mark.parametrize("values", [[0.0] * 6, [1.0] * 6, [0.0] * 3 + [1.0] * 3])
def test_learning_rates_of_0_and_1_are_no_share_of_seeds(interval, values):
    assert bounded_interval(interval(values), values, fraction=False, mean=False) == interval(values)


@pytest.mark.parametrize(("values", "agree"), [([0.0] * 6, True), ([1.0] * 6, True), ([0.0, 1.0] * 3, False)])
def test_of_numbers_that_may_be_above_1_those_are_a_share_that_are_0_and_1(values, agree):
    found = bounded_interval(t_interval(values), values, fraction=False)
    assert (found.low == found.high == found.estimate) is agree


def test_a_fraction_ends_at_its_bounds():
    values = [0.9, 1.0, 1.0, 0.97, 0.99]
    student = t_interval(values)
    assert student.high > 1
    assert bounded_interval(student, values, fraction=True).high == 1
    assert bounded_interval(student, values, fraction=False) == student


def test_a_panel_says_how_many_finished_and_draws_no_mean_of_the_rest(whole):
    where = {"split": "validation"}
    section = small_multiples(whole, quantity="nll", where=where, panels="optimizer.lr", lines="placement", x="step")
    ends = section.tables[0].rows
    lost = ends.filter(note="2 of 5 finished")
    assert lost.height == 1
    assert lost["estimate"].item() is None
    (panel, line) = lost.select(ends.columns[:2]).row(0)
    points = section.charts[0].points.filter((pl.col("panel") == panel) & (pl.col("series") == line))
    assert points.filter(pl.col("n") < 4)["estimate"].count() == 0
    assert "2 of 5 finished" in json.dumps(section.charts[0].spec, ensure_ascii=False)


def test_a_plot_over_rates_takes_no_mean_of_survivors(whole):
    where = {"split": "validation", "step": "last", "placement": "post"}
    found = collect_series(whole, "nll", where, "optimizer.lr", log=True, panels=False)
    assert 3e-3 not in set(found.points["x"])
    assert any("0.003 (2 of 5 finished)" in sentence for sentence in found.left_out), found.left_out


def test_a_number_that_a_diverged_run_has_all_the_same_is_kept(whole):
    section = table(whole, quantity="learned_fraction", rows="optimizer.lr", columns="placement",
                    where={"reference": "best"})  # fmt: skip
    texts = [text for line in section.tables[0].grid.rows for text, _ in line]
    assert not any("finished" in text for text in texts)
