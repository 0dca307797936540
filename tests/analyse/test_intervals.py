"""Intervals against scipy.stats, closed forms and the coverage that they promise."""

import math

import numpy as np
import pytest
from scipy import stats

from lnlab.analyse.statistics.intervals import (
    clopper_pearson,
    median_interval,
    sd_range,
    seeds_needed,
    sign_test_p_value,
    student_p_value,
    t_interval,
    t_quantile,
)

RNG = np.random.default_rng(1)


@pytest.mark.parametrize("n", [2, 3, 5, 10, 40])
def test_student_is_scipy_s(n):
    x = RNG.normal(3, 2, n)
    found = t_interval(x)
    low, high = stats.t.interval(0.95, n - 1, loc=x.mean(), scale=stats.sem(x))
    assert (found.estimate, found.low, found.high) == pytest.approx((x.mean(), low, high), rel=1e-12)
    assert (found.sd, found.n) == (pytest.approx(x.std(ddof=1)), n)


def test_on_the_log_scale_it_is_geometric():
    found = t_interval([1.0, 10.0, 100.0], log=True)
    half = 4.302652729911275 * math.log(10) / math.sqrt(3)
    assert found.estimate == pytest.approx(10)
    assert (found.low, found.high) == pytest.approx((10 * math.exp(-half), 10 * math.exp(half)))


def test_one_seed_has_an_unbounded_interval_equal_ones_a_point_and_wild_ones_an_infinite_end():
    assert (t_interval([2.0]).low, t_interval([2.0]).high) == (-math.inf, math.inf)
    assert (t_interval([2.0], log=True).low, t_interval([2.0], log=True).high) == (0.0, math.inf)
    assert t_interval([2.0, 2.0]).low == t_interval([2.0, 2.0]).high == 2.0
    assert t_interval([1e-300, 1e300], log=True).high == math.inf
    for values, log in (([], False), ([1.0, math.nan], False), ([1.0, 0.0], True)):
        with pytest.raises(ValueError, match="expected finite"):
            t_interval(values, log=log)


def test_quantiles_are_those_of_the_tables_and_the_tail_is_the_t_tests_p():
    assert (t_quantile(2), t_quantile(4), t_quantile(9)) == pytest.approx((4.3027, 2.7764, 2.2622), abs=1e-4)
    x = RNG.normal(0.5, 1, 7)
    expected = stats.ttest_1samp(x, 0, alternative="greater").pvalue
    assert student_p_value(x.mean(), x.std(ddof=1), 7) == pytest.approx(expected)
    assert (student_p_value(1.0, 0.0, 5), student_p_value(-1.0, 0.0, 5)) == (0.0, 1.0)


@pytest.mark.parametrize(("k", "n"), [(0, 5), (3, 5), (5, 5), (6, 6), (3, 3), (17, 40)])
def test_clopper_pearson_is_scipy_s_and_impossible_counts_are_refused(k, n):
    exact = stats.binomtest(k, n).proportion_ci(method="exact")
    assert clopper_pearson(k, n) == pytest.approx((exact.low, exact.high), abs=1e-12)
    for impossible in ((-1, 3), (4, 3), (0, 0)):
        with pytest.raises(ValueError, match="expected 0 <= k <= n"):
            clopper_pearson(*impossible)


def test_the_sign_test_is_binomial_and_the_range_of_a_standard_deviation_chi_square_s():
    assert sign_test_p_value(2, 9) == pytest.approx(stats.binomtest(2, 9, alternative="less").pvalue)
    low, high = sd_range(2.0, 6)
    assert low == pytest.approx(2 * math.sqrt(5 / stats.chi2.ppf(0.8, 5)))
    assert high == pytest.approx(2 * math.sqrt(5 / stats.chi2.ppf(0.2, 5)))
    assert (median_interval([1.0, 2.0, 3.0, 4.0, 5.0]).low, median_interval([3.0]).high) == (-math.inf, math.inf)
    with pytest.raises(ValueError, match="expected numbers"):
        median_interval([])


@pytest.mark.parametrize(("sd", "distance"), [(1.0, 1.0), (0.12, 0.1), (0.5, 0.11)])
def test_seeds_needed_is_the_smallest_that_does(sd, distance):
    def half(n):
        return stats.t.ppf(0.975, n - 1) * sd / math.sqrt(n)

    n = seeds_needed(sd, distance)
    assert half(n) < distance <= half(n - 1)


def test_on_the_edge_no_number_of_seeds_decides_and_more_than_a_hundred_are_counted():
    """With so many t is nearly normal: n = (z / distance)², and a little more."""
    assert seeds_needed(1.0, 0.0) is seeds_needed(1.0, 0.01) is None
    normal = (stats.norm.ppf(0.975) / 0.05) ** 2
    assert normal < seeds_needed(1.0, 0.05) < normal + 4


@pytest.mark.parametrize("n", [6, 9, 10, 25])
def test_the_interval_of_the_median_is_scipy_s(n):
    x = RNG.lognormal(0, 1, n)
    expected = stats.quantile_test(x, p=0.5).confidence_interval(0.95)
    found = median_interval(x)
    assert (found.low, found.high) == (expected.low, expected.high)
    assert (found.estimate, found.n) == (float(np.median(x)), n)
