"""Cumulative densities of spectra against known laws."""

import numpy as np
import pytest
import scipy.stats

from lnlab.analyse.statistics.spectral_density import signed_log, weight_below, weight_bounds

NODES = [-1.0, 0.0, 0.25, 3.0]
WEIGHTS = [0.1, 0.6, 0.25, 0.05]


def test_weights_are_read_from_nodes_in_any_order():
    places, order = np.array([-2.0, 0.1, 4.0]), [2, 0, 3, 1]
    shuffled = np.array(NODES)[order], np.array(WEIGHTS)[order]
    assert weight_below(places, *shuffled).tolist() == pytest.approx(weight_below(places, NODES, WEIGHTS).tolist())
    assert weight_below(places, NODES, WEIGHTS).tolist() == pytest.approx([0, 0.1 + 0.3 + 0.4 * (0.3 + 0.125), 1])
    for found in (weight_below(places, [], []), *weight_bounds(places, [], [])):
        assert found.tolist() == [0, 0, 0]


@pytest.mark.parametrize("nodes", [3, 8, 21])
@pytest.mark.parametrize(
    ("quadrature", "law"),
    [
        (np.polynomial.legendre.leggauss, scipy.stats.uniform(-1, 2)),
        (lambda n: np.polynomial.hermite_e.hermegauss(n), scipy.stats.norm()),
        (np.polynomial.laguerre.laggauss, scipy.stats.expon()),
        (np.polynomial.chebyshev.chebgauss, scipy.stats.arcsine(-1, 2)),
    ],
    ids=["uniform", "normal", "exponential", "arcsine"],
)
def test_a_measure_lies_between_the_stairs_of_its_gauss_quadrature(quadrature, law, nodes):
    x, w = quadrature(nodes)
    w = w / w.sum()
    places = np.concatenate([np.linspace(law.ppf(1e-4), law.ppf(1 - 1e-4), 999), x])
    truth, middle, (low, high) = law.cdf(places), weight_below(places, x, w), weight_bounds(places, x, w)
    assert (low - 1e-12 <= truth).all()
    assert (truth <= high + 1e-12).all()
    assert (low <= middle).all()
    assert (middle <= high).all()
    assert np.abs(middle - truth)[-nodes:].mean() < w.mean() / 4, "at the nodes stairs are off by half a weight"


def test_a_signed_logarithm_counts_powers_of_ten_on_both_sides():
    assert signed_log([-99.0, 0.0, 9.0], 1.0).tolist() == pytest.approx([-2, 0, 1])
    assert signed_log([1e-6], 1.0).tolist() == pytest.approx([1e-6 / np.log(10)], rel=1e-5)
