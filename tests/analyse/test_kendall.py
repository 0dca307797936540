"""Kendall's tau against scipy and by hand."""

import numpy as np
import pytest
from scipy.stats import kendalltau

from lnlab.analyse.statistics.kendall import kendall_tau


def test_without_ties_it_is_scipy_s_and_ties_count_nothing():
    x = np.random.default_rng(3).normal(size=(20, 7))
    expected = [kendalltau(np.arange(7), row).statistic for row in x]
    assert kendall_tau(x) == pytest.approx(expected)
    assert kendall_tau(np.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 2.0]])).tolist() == [
        1,
        -1,
        0,
        2 / 3,
    ]
