"""Bounds: in expectation, for all x, exactly."""

import math

import numpy as np
import pytest
from scipy import stats

from lnlab.errors import LabError

BOUND = {"kind": "bound"}
RNG = np.random.default_rng(6)


@pytest.mark.parametrize(
    ("region", "word"),
    [
        ({"at_most": 1.2}, "supported"),
        ({"at_most": 0.9}, "contradicted"),
        ({"at_most": 1.01}, "undecided"),
        ({"at_least": 0.9}, "supported"),
        ({"between": [0.9, 1.1]}, "supported"),
        ({"between": [1.2, 1.8]}, "contradicted"),
    ],
)
def test_in_expectation_on_the_log_scale(verdict, exactly, region, word):
    found = verdict(exactly(1, 0.05, 10), **BOUND, **region)
    assert found.verdict == word, found.reason
    half = stats.t.ppf(0.975, 9) * 0.05 / math.sqrt(10)
    assert (found.low, found.high) == pytest.approx((math.exp(-half), math.exp(half)))


def test_tightness_is_measured_over_bound_where_the_ratio_means_something(verdict, exactly):
    below = verdict(-exactly(0.2, 0.05, 10), **BOUND, at_most=2, scale="linear")
    assert (below.estimate < 0, "tightness" in below.reason) == (True, False)
    assert verdict(exactly(1, 0.05, 10), **BOUND, at_most=2).reason.endswith("tightness (measured/bound) 0.5")
    assert "tightness" not in verdict(exactly(1, 0.05, 10), **BOUND, between=[0.5, 2]).reason


@pytest.mark.parametrize(("reduce", "expected"), [("spread", 8), ("last/first", 8), ("growth", 2), ("max", 8)])
def test_a_reduction_along_x(verdict, exactly, reduce, expected):
    numbers = np.outer(exactly(1, 0.01, 5), [1, 2, 4, 8])
    found = verdict(numbers, **BOUND, over="layer", reduce=reduce, between=[expected * 0.9, expected * 1.1])
    assert (found.verdict, found.statistic) == ("supported", f"{reduce} over layer")
    assert found.estimate == pytest.approx(expected)


def test_for_all_x_the_largest_meets_the_upper_and_the_smallest_the_lower_edge(verdict, exactly):
    numbers = np.outer(exactly(1, 0.01, 5), [1, 2, 3])
    assert verdict(numbers, **BOUND, over="layer", at_most=3.2).statistic == "max over layer"
    assert verdict(numbers, **BOUND, over="layer", at_most=2.5).verdict == "contradicted"
    assert verdict(numbers, **BOUND, over="layer", at_least=0.9).verdict == "supported"
    both = verdict(numbers, **BOUND, over="layer", between=[0.9, 3.2])
    assert both.verdict == "supported"
    assert "2 of 2 statements hold" in both.reason
    low = verdict(numbers, **BOUND, over="layer", between=[1.5, 3.2])
    assert (low.verdict, low.statistic, low.region_low) == ("contradicted", "min over layer", 1.5)


def test_on_the_linear_scale_signs_are_welcome_and_five_seeds_needed(verdict, golden):
    numbers = [-1.0, -1.1, -0.9, -1.05, -0.95]
    assert verdict(numbers, **BOUND, scale="linear", at_most=0).verdict == "supported"
    golden(verdict(numbers[:4], **BOUND, scale="linear", at_most=0).reason)
    golden(verdict(numbers, **BOUND, at_least=0.5).reason)


def test_failures_count_against_every_verdict(verdict):
    some = [math.nan] * 3 + [1.0] * 7
    for region in ({"at_most": 2}, {"at_most": 0.5}):
        found = verdict(some, **BOUND, **region)
        assert found.verdict == "undecided"
        assert "tightness" not in found.reason
    many = [math.nan] * 9 + [1.0] * 31
    for about in ("median", "share"):
        assert verdict(many, **BOUND, at_most=2, about=about).verdict == "supported"
        assert verdict(many, **BOUND, at_most=0.5, about=about).verdict == "contradicted"


@pytest.mark.parametrize("about", ["median", "share"])
def test_for_all_x_with_failures_counts_seeds_in_each_member(verdict, about):
    many = [[math.nan, 1.0]] * 9 + [[1.0, 2.0]] * 31
    assert verdict(many, **BOUND, over="layer", between=[0.5, 3], about=about).verdict == "supported"
    assert verdict(many, **BOUND, over="layer", between=[0.5, 1.5], about=about).verdict == "contradicted"


def test_an_exact_bound_falls_to_one_sample(verdict, golden):
    numbers = np.ones((3, 4))
    assert verdict(numbers, **BOUND, exact=True, at_most=1).verdict == "supported"
    numbers[1, 2] = 1 + 1e-4
    found = verdict(numbers, **BOUND, exact=True, at_most=1)
    assert (found.verdict, found.estimate, found.n, found.inside) == ("contradicted", 1.0001, 3, 2)
    golden(found.reason)
    assert verdict(numbers, **BOUND, exact=True, at_most=1, tolerance=1e-3).verdict == "supported"
    assert verdict(numbers, **BOUND, exact=True, over="layer", at_least=0).verdict == "supported"


@pytest.mark.parametrize(("edge", "rounding"), [(1000.0, 1e-2), (1e-3, 1e-8), (0.0, 1e-5), (-50.0, 5e-4)])
def test_the_tolerance_of_an_exact_bound_is_relative_unless_its_edge_is_0(verdict, edge, rounding):
    for word, factor in (("supported", 0.9), ("contradicted", 1.1)):
        assert verdict([edge + factor * rounding], **BOUND, exact=True, at_most=edge).verdict == word
        assert verdict([edge - factor * rounding], **BOUND, exact=True, at_least=edge).verdict == word


def test_an_exact_bound_waits_for_every_run_and_nan_breaks_it(verdict, golden):
    status = lambda arm, seed: "finished" if seed == 1 else None  # noqa: E731
    assert verdict([0.5, None], **BOUND, exact=True, at_most=1, status=status).verdict == "undecided"
    assert verdict([1.5, None], **BOUND, exact=True, at_most=1, status=status).verdict == "contradicted"
    assert verdict([None, None], **BOUND, exact=True, at_most=1, status=lambda a, s: None).estimate is None
    assert verdict([0.5], **BOUND, exact=True, between=[0, 1]).verdict == "supported"
    assert verdict([math.nan], **BOUND, exact=True, between=[0, 1]).verdict == "contradicted"
    gone = {"quantity": "q", "tensor": "w9"}
    assert verdict([1.0], **BOUND, exact=True, at_most=1, of=gone).verdict == "not testable here"
    with golden.raises(LabError):
        verdict([1.0] * 3, **BOUND, at_most=0)


@pytest.mark.parametrize("zero", [0.0, -0.0, -1.0])
def test_on_the_log_scale_a_zero_is_excluded_as_a_negative_number_is(verdict, zero):
    """Its logarithm would be minus infinity, and so would be the mean."""
    found = verdict([2.0, 2.1, 1.9, 2.05, 1.95, zero], kind="bound", at_least=1.0)
    assert math.isfinite(found.estimate)
    assert (found.n, found.low > 1.8) == (5, True)
