"""Histograms against numpy's, and what has no place in them."""

import math

import numpy as np
import pytest

from lnlab.analyse.statistics.histograms import equal_bins

X = np.random.default_rng(3).lognormal(1, 2, 400)


def test_a_density_in_decades_is_numpy_s_and_a_linear_one_takes_numbers_of_any_sign():
    bins = equal_bins(X, 10, log=True)
    expected, edges = np.histogram(np.log10(X), 10, density=True)
    assert bins.density(X) == pytest.approx([0, *expected, 0])
    assert bins.density(X).sum() * bins.width == pytest.approx(1)
    assert np.log10(bins.middles[1:-1]) == pytest.approx((edges[1:] + edges[:-1]) / 2)
    bins = equal_bins(X - 3, 7, log=False)
    assert bins.density(X - 3)[1:-1] == pytest.approx(np.histogram(X - 3, 7, density=True)[0])
    assert np.diff(bins.middles) == pytest.approx(bins.width)


def test_the_seeds_of_a_line_share_bins_and_their_mean_is_the_pooled_density():
    bins = equal_bins(X, 12, log=True)
    each = [bins.density(part) for part in np.split(X, 8)]
    assert np.mean(each, 0) == pytest.approx(bins.density(X))


def test_zeros_are_in_no_bin_equal_values_in_the_middle_and_what_has_no_place_is_refused():
    with_zeros = np.concatenate([X, np.zeros(100), [-1.0] * 100])
    bins = equal_bins(with_zeros, 10, log=True)
    assert bins.density(with_zeros).sum() * bins.width == pytest.approx(400 / 600)
    bins = equal_bins([2.0, 2.0], 3, log=True)
    assert bins.density([2.0, 2.0]) == pytest.approx([0, 0, 3, 0, 0])
    assert bins.middles[2] == pytest.approx(2.0)


@pytest.mark.parametrize(("values", "log"), [([], False), ([0.0, -1.0], True), ([1.0, math.nan], False)])
def test_what_has_no_place_is_refused(values, log):
    with pytest.raises(ValueError, match="expected finite ones"):
        equal_bins(values, 4, log=log)
