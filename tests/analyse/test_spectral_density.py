"""Smoothed spectra against scipy's normal densities and the smoothed eigenvalues themselves."""

import numpy as np
import pytest
import scipy.stats

from lnlab.analyse.statistics.spectral_density import GRID_REACH, density_on_grid, papyan_width

NODES = [-1.0, 0.0, 0.25, 3.0]
WEIGHTS = [0.1, 0.6, 0.25, 0.05]


def grid(width, points=1024):
    return np.linspace(min(NODES) - GRID_REACH * width, max(NODES) + GRID_REACH * width, points)


def test_it_is_the_mixture_of_normal_densities():
    places = grid(0.2)
    expected = sum(w * scipy.stats.norm.pdf(places, x, 0.2) for x, w in zip(NODES, WEIGHTS, strict=True))
    np.testing.assert_allclose(density_on_grid(places, NODES, WEIGHTS, 0.2), expected, rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("width", [0.01, 0.5])
def test_it_integrates_to_one_and_has_the_moments_of_the_nodes(width):
    places = grid(width, 4000)
    density = density_on_grid(places, NODES, WEIGHTS, width)
    assert np.trapezoid(density, places) == pytest.approx(1, abs=1e-5)
    assert np.trapezoid(density * places, places) == pytest.approx(np.dot(NODES, WEIGHTS), abs=1e-5)
    second = np.dot(np.square(NODES), WEIGHTS) + width**2
    assert np.trapezoid(density * places**2, places) == pytest.approx(second, rel=1e-4)


def test_the_customary_width():
    """By hand: kappa 3 on the axis from -1 to 1."""
    assert papyan_width(-1, 1, 91, margin=0.0) == pytest.approx(2 / 90 / 2.96460, rel=1e-5)
    assert papyan_width(0, 10, 91) == pytest.approx(5.5 * papyan_width(-1, 1, 91, margin=0.0))
