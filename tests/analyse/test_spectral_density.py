"""Smoothed spectra against scipy's normal densities and the smoothed eigenvalues themselves."""

import numpy as np
import pytest
import scipy.stats

from lnlab.analyse.statistics.spectral_density import ghorbani_width, papyan_width, smoothed_spectrum, weight_outside

NODES = [-1.0, 0.0, 0.25, 3.0]
WEIGHTS = [0.1, 0.6, 0.25, 0.05]


def test_it_is_the_mixture_of_normal_densities():
    found = smoothed_spectrum(NODES, WEIGHTS, 0.2)
    expected = sum(w * scipy.stats.norm.pdf(found.grid, x, 0.2) for x, w in zip(NODES, WEIGHTS, strict=True))
    np.testing.assert_allclose(found.values, expected, rtol=1e-12, atol=1e-300)
    assert found.width == 0.2


@pytest.mark.parametrize("width", [0.01, 0.5])
def test_it_integrates_to_one_and_has_the_moments_of_the_nodes(width):
    found = smoothed_spectrum(NODES, WEIGHTS, width, points=4000)
    assert np.trapezoid(found.values, found.grid) == pytest.approx(1, abs=1e-5)
    mean = np.dot(NODES, WEIGHTS)
    assert np.trapezoid(found.values * found.grid, found.grid) == pytest.approx(mean, abs=1e-5)
    second = np.dot(np.square(NODES), WEIGHTS) + width**2
    assert np.trapezoid(found.values * found.grid**2, found.grid) == pytest.approx(second, rel=1e-4)


def test_a_grid_too_coarse_for_its_width_is_refused():
    with pytest.raises(ValueError, match="found steps of"):
        smoothed_spectrum(NODES, WEIGHTS, 0.001, points=100)
    for nodes, width in (([], 0.1), ([1.0], 0.0), ([np.nan], 0.1), ([1.0], float("nan"))):
        with pytest.raises(ValueError, match="found the width"):
            smoothed_spectrum(nodes, [1.0] * len(nodes), width)


def test_the_customary_widths():
    """By hand: a variance of 1e-5 a unit of range, at least 1e-5; and kappa 3 on the axis from -1 to 1."""
    assert ghorbani_width(-2, 8) == pytest.approx(1e-2)
    assert ghorbani_width(0, 0.1) == pytest.approx(10**-2.5)
    assert papyan_width(-1, 1, 91, margin=0.0) == pytest.approx(2 / 90 / 2.96460, rel=1e-5)
    assert papyan_width(0, 10, 91) == pytest.approx(5.5 * papyan_width(-1, 1, 91, margin=0.0))


def test_the_weight_outside_a_bound():
    assert weight_outside(NODES, WEIGHTS, 0.9) == pytest.approx(0.15)
    assert weight_outside(NODES, WEIGHTS, 1.0) == pytest.approx(0.05)
    assert weight_outside(NODES, WEIGHTS, 5) == 0
