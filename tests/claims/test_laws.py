"""Fits against scipy's optimizer, and errors at left-out levels against fits one by one."""

import math

import numpy as np
import pytest
from scipy.optimize import least_squares

from lnlab.claims.laws import MAX_LOG_ERROR, fit_endpoints, left_out_errors

X = np.array([2.0, 4, 8, 16, 32, 64, 128])
LAWS = {
    "linear": ("linear", lambda x, a, b: a + b * x),
    "logarithmic": ("logarithmic", lambda x, a, b: a + b * np.log(x)),
    "exponential": ("exponential", lambda x, a, b: a * np.exp(b * x)),
}
every_law = pytest.mark.parametrize(("law", "curve"), LAWS.values(), ids=LAWS.keys())


def by_scipy(curve, x, y):
    """The parameters that minimize the squared log errors, from several starts, in the law's own a and b."""

    def residuals(p):
        return np.log(np.maximum(curve(x, *p), 1e-300)) - np.log(y)

    slope = (y[-1] - y[0]) / (curve(x[-1:], 0, 1) - curve(x[:1], 0, 1))[0] if curve(x, 0, 1).any() else 0.0
    rate = math.log(y[-1] / y[0]) / (x[-1] - x[0])
    starts = [(y[0] - slope * curve(x[:1], 0, 1)[0], slope), (y.mean(), 0.0), (y[0], rate)]
    kept = [p for p in starts if (curve(x, *p) > 0).all()]
    found = [least_squares(residuals, p, x_scale=np.maximum(np.abs(p), 1e-3), xtol=1e-15, ftol=1e-15) for p in kept]
    return min(found, key=lambda f: f.cost)


@every_law
def test_fits_are_the_least_squares_of_log_errors(law, curve):
    """On noisy numbers that rise or fall up to e^6-fold: never worse than scipy, in one run of the iteration."""
    rng = np.random.default_rng(0)
    g = np.log(X) if law == "logarithmic" else X
    s = (g - g[0]) / (g[-1] - g[0])
    for _ in range(20):
        z = rng.choice([-1, 1]) * rng.uniform(0, 6) * np.linspace(0, 1, 7) + rng.normal(scale=0.3, size=7)
        a, b = (math.exp(value) for value in fit_endpoints(law, s, z))
        end = np.log(a) * (1 - s) + np.log(b) * s if law == "exponential" else np.log(a * (1 - s) + b * s)
        cost = np.square(end - z).sum()
        assert cost <= 2 * by_scipy(curve, X, np.exp(z)).cost * (1 + 1e-6) + 1e-12


@every_law
def test_left_out_levels_are_predicted_by_a_fit_to_the_others(law, curve):
    y = curve(X, 3.0, 0.02) * np.exp(0.1 * np.random.default_rng(1).normal(size=7))
    expected = []
    for i in range(7):
        kept = np.arange(7) != i
        p = by_scipy(curve, X[kept], y[kept]).x
        expected.append(math.log(curve(X[i : i + 1], *p)[0] / y[i]))
    assert left_out_errors(law, X, y) == pytest.approx(expected, abs=1e-4)


@every_law
def test_a_law_predicts_its_own_numbers_exactly_and_whatever_their_unit(law, curve):
    y = np.stack([curve(X, 3.0, 0.05), 1e9 * curve(X, 1.0, -0.001), 1e-9 * curve(X, 0.1, 0.02)])
    assert left_out_errors(law, X, y) == pytest.approx(np.zeros((3, 7)), abs=1e-7)


def test_seeds_are_fitted_apart():
    y = X * np.exp(0.3 * np.random.default_rng(2).normal(size=(4, 3, 7)))
    apart = [[left_out_errors("linear", X, row) for row in rows] for rows in y]
    assert left_out_errors("linear", X, y) == pytest.approx(np.array(apart), abs=1e-8)


@pytest.mark.parametrize("last", [1e-9, 1e9])
def test_a_prediction_that_is_not_positive_or_absurd_is_off_by_the_worst(last):
    """A straight line through falling numbers crosses zero before the level left out."""
    y = np.array([100.0, 98, 92, 78, 50, 5, last])
    assert abs(left_out_errors("linear", X, y)[-1]) == MAX_LOG_ERROR
