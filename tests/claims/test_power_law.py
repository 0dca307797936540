"""Exponents: slopes against numpy's least squares, regions, lack of fit."""

import numpy as np
import pytest
from scipy import stats

from lnlab.claims.kinds.power_law import default_exponent_region, lack_of_fit, log_log_slopes
from lnlab.errors import LabError

SIZES = {"kind": "power_law", "over": "model.layers"}
X = np.array([6.0, 8, 10, 12, 14])
RNG = np.random.default_rng(5)


def law(exponent, n=10, noise=0.05, x=X, slope_sd=0.0):
    slope = exponent + slope_sd * RNG.normal(size=(n, 1))
    return np.exp(slope * np.log(x) + noise * RNG.normal(size=(n, len(x))))


def test_slopes_and_bends_are_numpys_least_squares_within_the_seed():
    y = law(-0.5, noise=0.5)
    assert log_log_slopes(X, y) == pytest.approx([np.polyfit(np.log(X), np.log(row), 1)[0] for row in y])
    y = np.exp(2 * np.log(X) ** 2)[None] * np.exp(0.01 * RNG.normal(size=(5, 5)))
    bends = [np.polyfit(np.log(X), np.log(row), 2)[0] for row in y]
    assert f"is {np.mean(bends):.3g} (" in lack_of_fit(X, y)


def test_a_law_without_noise_gives_its_exponent_and_the_interval_is_over_seeds(verdict):
    found = verdict(law(-0.5, noise=0), **SIZES, sizes=True, between=[-0.7, -0.3])
    assert found.estimate == pytest.approx(-0.5)
    assert found.low == pytest.approx(found.high)
    assert (found.verdict, found.statistic) == ("supported", "exponent")
    assert found.scope.startswith("6-6 ... 14-14")
    y = law(0.0, noise=0.02)
    found = verdict(y, **SIZES, sizes=True, between=[-0.15, 0.15])
    s = log_log_slopes(X, y)
    expected = stats.t.interval(0.95, 9, loc=s.mean(), scale=stats.sem(s))
    assert (found.low, found.high) == pytest.approx(expected)
    assert found.verdict == "supported"
    assert found.seeds == pytest.approx(dict(enumerate(s, 1)))


@pytest.mark.parametrize(
    ("region", "word"),
    [
        *(({"at_most": -0.3}, "supported"), ({"at_least": -0.3}, "contradicted")),
        *(({"big_o": -0.5}, "supported"), ({"big_o": -0.8}, "contradicted")),
        ({"between": [-0.15, 0.15]}, "contradicted"),
        *(({"exponent": -0.5}, "supported"), ({"exponent": -0.45}, "supported"), ({"exponent": 0}, "contradicted")),
        ({"exponent": -0.35}, "undecided"),
    ],
)
def test_every_region(verdict, region, word):
    y = np.exp(np.outer(np.linspace(-0.52, -0.48, 10), np.log(X)))
    found = verdict(y, **SIZES, sizes=True, **region)
    assert found.verdict == word, found.reason


def test_the_default_region_narrows_over_a_wide_span_and_big_o_prints_the_gap(verdict):
    assert default_exponent_region(1.0, np.array([1.0, 2, 4, 7])).high == pytest.approx(1.15)
    assert default_exponent_region(1.0, np.array([1.0, 2, 4, 8])).low == pytest.approx(0.9)
    found = verdict(law(-0.5, noise=0), **SIZES, sizes=True, big_o=-0.4)
    assert found.region_high == pytest.approx(-0.35)
    assert found.reason.endswith("exponent gap -0.1")


def test_a_bend_that_falls_and_rises_is_undecided_whatever_its_slope(verdict, golden):
    bent = np.exp(1.5 * (np.log(X) - np.log(X).mean()) ** 2)[None] * np.exp(0.01 * RNG.normal(size=(10, 5)))
    found = verdict(bent, **SIZES, sizes=True, between=[-0.3, 0.3])
    assert found.verdict == "undecided"
    golden(found.reason)
    outlook = "neither all within the accepted range (between −0.3 and 0.3) nor all on one side of it"
    assert found.reason.endswith(outlook)
    assert (found.statistic, found.estimate) == ("exponent", pytest.approx(log_log_slopes(X, bent).mean()))


FALLING = np.array([260.0, 30, 6, 2, 1])


@pytest.mark.parametrize(
    ("curve", "region", "word"),
    [
        (FALLING, {"at_least": 0.1}, "contradicted"), (FALLING, {"exponent": 0.5}, "contradicted"),
        (1 / FALLING, {"at_most": -0.1}, "contradicted"), (FALLING, {"at_most": -0.1}, "supported"),
        (FALLING, {"at_least": -0.1}, "contradicted"), (FALLING, {"between": [-0.1, 0.1]}, "contradicted"),
        (FALLING, {"at_most": -5.5}, "undecided"), (FALLING, {"exponent": -6}, "undecided"),
        (FALLING, {"big_o": -4}, "supported"), (1 / FALLING, {"at_least": 0.1}, "supported"),
        (1 / FALLING, {"at_most": 4}, "contradicted"),
    ],
)  # fmt: skip
def test_a_curve_that_is_no_power_law_is_judged_where_all_of_it_agrees(verdict, curve, region, word, golden):
    """FALLING has local exponents of -7.5, -7.2, -6.0 and -4.5: what holds of all, or of none, is decided."""
    found = verdict(curve[None] * np.exp(0.01 * RNG.normal(size=(5, 5))), **SIZES, sizes=True, **region)
    assert found.verdict == word, found.reason
    golden(found.reason)


def test_a_curve_that_differs_between_seeds_is_judged_by_intervals_and_not_by_its_trend(verdict, golden):
    """Then the local exponents decide, by their intervals."""
    y = FALLING[None] * np.exp(0.01 * RNG.normal(size=(5, 5)))
    y[2, 3] = y[2, 2] * 1.001
    found = verdict(y, **SIZES, sizes=True, at_least=0.1)
    assert (found.verdict, "every seed falls" in found.reason) == ("contradicted", False)
    ratio = np.log(y[:, 3] / y[:, 2]) / np.log(12 / 10)
    assert (found.low, found.high) == pytest.approx(stats.t.interval(0.95, 4, loc=ratio.mean(), scale=stats.sem(ratio)))
    # Slopes that differ so much between seeds that the interval reaches the region decide nothing.
    past = np.log(X / X[0])
    wide = np.exp(-np.outer([0.1, 0.2, 6.0], past) - 3 * past**2) * np.exp(1e-3 * RNG.normal(size=(3, 5)))
    found = verdict(wide, **SIZES, sizes=True, at_least=0.1)
    assert (found.verdict, found.high > 0.1) == ("undecided", True)
    golden(found.reason)
    two = verdict(FALLING[None] * np.ones((2, 1)), **SIZES, sizes=True, at_least=0.1)
    golden(two.reason)


def test_a_bend_below_ten_percent_or_within_noise_is_forgiven():
    small = np.exp(0.3 * (np.log(X) - np.log(X).mean()) ** 2)[None] * np.ones((10, 1))
    assert lack_of_fit(X, small * np.exp(1e-4 * RNG.normal(size=(10, 5)))) is None
    assert lack_of_fit(X, law(0.5, noise=0.5)) is None


def test_levels_span_and_what_it_runs_over_by_rule(verdict, golden):
    found = verdict(law(0, x=X[:3]), **SIZES, sizes=True, exponent=0)
    assert (found.verdict, found.region_low, found.region_high) == ("undecided", -0.15, 0.15)
    golden(found.reason)
    narrow = X[:4]  # 6 to 12 layers
    assert verdict(law(0, x=narrow), **SIZES, sizes=True, exponent=0).verdict == "supported"
    found = verdict(law(0), **SIZES, sizes=True, exponent=0, of={"quantity": "q", "model.layers": [8, 10, 12, 14]})
    golden(found.reason)
    with golden.raises(LabError):
        verdict(law(0)[:, :1], kind="power_law", over="placement", exponent=0)
    y = np.exp(-0.5 * np.log(np.arange(1, 7)))[None] * np.ones((5, 1))
    found = verdict(y, kind="power_law", over="layer", between=[-0.7, -0.3])
    assert (found.verdict, found.estimate) == ("supported", pytest.approx(-0.5))


def test_two_seeds_or_too_many_failures_are_undecided(verdict, golden):
    golden(verdict(law(0, n=2), **SIZES, sizes=True, exponent=0).reason)
    y = law(0)
    y[:3, 0] = np.nan
    found = verdict(y, **SIZES, sizes=True, exponent=0)
    assert "30% of them" in found.reason
    trained = verdict(law(0, n=4), **SIZES, sizes=True, exponent=0, step=5)
    golden(trained.reason)


def test_with_a_second_series_it_is_the_difference_of_exponents_paired_by_seed(verdict):
    """What a seed does to both sides cancels, so that the interval is of the difference alone."""
    shared = np.exp(RNG.normal(size=(10, 5)))
    a, b = law(-0.5, noise=0.01), law(-0.4, noise=0.01)
    found = verdict(
        {"a": a * shared, "b": b * shared}, **SIZES, to={"placement": "b"}, sizes=True, between=[-0.15, -0.05]
    )
    expected = stats.t.interval(
        0.95, 9, loc=(log_log_slopes(X, a) - log_log_slopes(X, b)).mean(), scale=stats.sem(log_log_slopes(X, a / b))
    )
    assert (found.low, found.high) == pytest.approx(expected)
    assert found.verdict == "supported"
