"""Smoothed spectra against scipy's normal densities and the smoothed eigenvalues themselves."""

import numpy as np
import pytest
import scipy.stats

from lnlab.analyse.statistics.spectral_density import (
    GRID_REACH,
    density_on_grid,
    papyan_width,
    signed_log,
    weight_below,
    weight_bounds,
)

NODES = [-1.0, 0.0, 0.25, 3.0]
WEIGHTS = [0.1, 0.6, 0.25, 0.05]


def grid(width, points=1024):
    return np.linspace(min(NODES) - GRID_REACH * width, max(NODES) + GRID_REACH * width, points)


def test_it_is_the_mixture_of_normal_densities_of_nodes_in_any_order():
    places = grid(0.2)
    expected = sum(w * scipy.stats.norm.pdf(places, x, 0.2) for x, w in zip(NODES, WEIGHTS, strict=True))
    np.testing.assert_allclose(density_on_grid(places, NODES, WEIGHTS, 0.2), expected, rtol=1e-12, atol=1e-300)
    # By hand: kappa 3 on the axis from -1 to 1.
    assert papyan_width(-1, 1, 91, margin=0.0) == pytest.approx(2 / 90 / 2.96460, rel=1e-5)
    assert papyan_width(0, 10, 91) == pytest.approx(5.5 * papyan_width(-1, 1, 91, margin=0.0))
    places, order = np.array([-2.0, 0.1, 4.0]), [2, 0, 3, 1]
    shuffled = np.array(NODES)[order], np.array(WEIGHTS)[order]
    assert weight_below(places, *shuffled).tolist() == pytest.approx(weight_below(places, NODES, WEIGHTS).tolist())
    assert weight_below(places, NODES, WEIGHTS).tolist() == pytest.approx([0, 0.1 + 0.3 + 0.4 * (0.3 + 0.125), 1])
    for found in (weight_below(places, [], []), *weight_bounds(places, [], [])):
        assert found.tolist() == [0, 0, 0]


@pytest.mark.parametrize("width", [0.01, 0.5])
def test_it_integrates_to_one_and_has_the_moments_of_the_nodes(width):
    places = grid(width, 4000)
    density = density_on_grid(places, NODES, WEIGHTS, width)
    assert np.trapezoid(density, places) == pytest.approx(1, abs=1e-5)
    assert np.trapezoid(density * places, places) == pytest.approx(np.dot(NODES, WEIGHTS), abs=1e-5)
    second = np.dot(np.square(NODES), WEIGHTS) + width**2
    assert np.trapezoid(density * places**2, places) == pytest.approx(second, rel=1e-4)


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
