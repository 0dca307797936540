"""Page's test against scipy's exact one, the closed form for perfect order, and its own promise."""

import math
from itertools import permutations

import numpy as np
import pytest
from scipy.stats import page_trend_test

from lnlab.analyse.statistics.page_trend import page_test

RNG = np.random.default_rng(2)


@pytest.mark.parametrize(("n", "k"), [(2, 4), (3, 4), (3, 6), (10, 5), (5, 7)])
def test_exact_p_values_are_scipy_s(n, k):
    x = RNG.normal(size=(n, k)) + 0.3 * np.arange(k)
    rising, falling = page_test(x)
    assert rising == pytest.approx(page_trend_test(x, method="exact").pvalue, rel=1e-9)
    assert falling == pytest.approx(page_trend_test(x[:, ::-1], method="exact").pvalue, rel=1e-9)


@pytest.mark.parametrize(("n", "k"), [(3, 4), (3, 6), (2, 11)])
def test_perfect_order_in_every_seed_has_one_chance_in_k_factorial_to_the_n(n, k):
    x = np.tile(np.arange(k, dtype=float), (n, 1))
    assert page_test(x) == pytest.approx((math.factorial(k) ** -n, 1.0))
    assert page_test(x[:, ::-1]) == pytest.approx((1.0, math.factorial(k) ** -n))


def test_the_null_distribution_is_that_of_all_orders():
    every = [sum(j * r for j, r in enumerate(order, 1)) for order in permutations(range(1, 6))]
    for total, order in ((55, [1, 2, 3, 4, 5]), (50, [3, 1, 4, 2, 5])):
        assert sum(j * r for j, r in enumerate(order, 1)) == total
        assert page_test(np.array([order], dtype=float))[0] == pytest.approx(sum(e >= total for e in every) / 120)


def test_ties_get_mean_ranks_and_beyond_fourteen_levels_the_normal_limit_is_scipy_s():
    x = np.array([[1.0, 1.0, 2.0, 3.0]])
    assert page_test(x)[0] >= page_test(np.array([[1.0, 2.0, 3.0, 4.0]]))[0]
    assert page_test(np.ones((3, 5))) == pytest.approx((0.5, 0.5), abs=0.05)
    x = RNG.normal(size=(6, 16)) + 0.05 * np.arange(16)
    assert page_test(x)[0] == pytest.approx(page_trend_test(x, method="asymptotic").pvalue, rel=1e-9)
    x = RNG.normal(size=(10, 12)) + 0.05 * np.arange(12)
    assert page_test(x)[0] == pytest.approx(page_trend_test(x, method="asymptotic").pvalue, abs=0.01)


def test_without_a_trend_it_is_wrong_no_more_often_than_it_says():
    p = np.array([page_test(RNG.normal(size=(4, 5)))[0] for _ in range(2000)])
    assert np.mean(p <= 0.025) <= 0.025 + 4 * math.sqrt(0.025 * 0.975 / 2000)
