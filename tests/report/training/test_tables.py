"""Tables of trained numbers: no mean of survivors, and no interval beyond what the numbers can be."""

import pytest
from scipy import stats

from lnlab.analyse.statistics.intervals import t_interval
from lnlab.report.data.table_cells import bounded_interval
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


@pytest.mark.parametrize(("k", "n"), [(1, 2), (3, 10), (0, 5), (10, 10)])
def test_a_share_of_seeds_has_the_exact_interval(k, n):
    values = [1.0] * k + [0.0] * (n - k)
    found = bounded_interval(t_interval(values), values, fraction=False)
    exact = stats.binomtest(k, n).proportion_ci(method="exact")
    assert (found.estimate, found.low, found.high) == pytest.approx((k / n, exact.low, exact.high))


def test_a_fraction_ends_at_its_bounds():
    values = [0.9, 1.0, 1.0, 0.97, 0.99]
    student = t_interval(values)
    assert student.high > 1
    assert bounded_interval(student, values, fraction=True).high == 1
    assert bounded_interval(student, values, fraction=False) == student
