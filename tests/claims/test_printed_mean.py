"""Printed means: Student's prediction interval as the oracle, and how often a mean of the same law is refused."""

import math

import numpy as np
import pytest
from scipy import stats

from lnlab.claims.judging import judge_claim
from lnlab.report.gallery.rezero_jacobian import predicted_means

MEAN = {"kind": "printed_mean", "draws": 10}
RNG = np.random.default_rng(6)


@pytest.mark.parametrize(("n", "sd"), [(3, 0.2), (10, 1.0), (30, 0.5)])
def test_one_further_draw_lies_in_students_prediction_interval(exactly, n, sd):
    found = predicted_means(exactly(2.0, sd, n).tolist(), 1)
    half = stats.t.ppf(0.975, n - 1) * sd * math.sqrt(1 + 1 / n)
    assert np.log([found.low, found.high]) == pytest.approx([math.log(2) - half, math.log(2) + half], abs=0.05 * half)


def test_means_of_many_draws_of_a_known_law_lie_around_its_mean(exactly):
    found = predicted_means(exactly(1.0, 0.5, 4000).tolist(), 100)
    law = stats.lognorm(0.5)
    simulated = np.quantile(law.rvs((20_000, 100), random_state=1).mean(1), [0.025, 0.975])
    assert (found.low, found.high) == pytest.approx(tuple(simulated), rel=0.02)


@pytest.mark.parametrize(
    ("shape", "n"),
    [
        ("log-normal", 10),
        ("gamma", 30),
        pytest.param("log-normal", 30, marks=pytest.mark.nightly),
        pytest.param("gamma", 10, marks=pytest.mark.nightly),
    ],
)
def test_a_mean_of_the_same_law_is_refused_one_time_in_twenty(shape, n):
    """The gamma law has the scatter of a log-normal one and another shape."""
    law = stats.lognorm(1.0) if shape == "log-normal" else stats.gamma(2.0)
    ours, printed = law.rvs((300, n), random_state=n), law.rvs((300, 10), random_state=n + 1).mean(1)
    refused = np.mean([m not in predicted_means(x.tolist(), 10) for x, m in zip(ours, printed, strict=True)])
    assert refused <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 300)


def test_verdicts(verdict, exactly, golden):
    draws = exactly(1.0, 0.5, 30)
    near, far = verdict(draws, **MEAN, mean=1.2), verdict(draws, **MEAN, mean=2.5)
    assert (near.verdict, far.verdict) == ("supported", "contradicted"), near.reason
    assert near.estimate == 1.2
    assert near.region_low < 1.2 < near.region_high
    assert near.inside == sum(near.region_low <= x <= near.region_high for x in draws)
    golden(near.reason)
    assert f"is {draws.mean():.3g}" in near.reason


def test_a_further_look_refuses_less_and_accepts_no_more(experiment, exactly):
    """What the middle 95 % leave out is no support at a look that wants more to contradict."""
    numbers = exactly(1.0, 0.5, 30)
    region, wider = predicted_means(numbers.tolist(), 10), predicted_means(numbers.tolist(), 10, 1 - 0.05 / 4)
    between = (region.high + wider.high) / 2
    claim = {"id": "it", "says": "", "of": {"quantity": "q", "placement": "a"}, **MEAN}
    results = experiment({"a": numbers})
    words = [judge_claim({**claim, "mean": between}, results, look=look).verdict for look in (1, 2)]
    assert words == ["contradicted", "undecided"]
    assert judge_claim({**claim, "mean": 1.01 * wider.high}, results, look=2).verdict == "contradicted"


def test_the_same_seeds_have_the_same_range_and_too_few_decide_nothing(verdict, exactly, golden):
    one, other = (verdict(exactly(1.0, 0.5, 10), **MEAN, mean=1.0) for _ in range(2))
    assert (one.region_low, one.region_high) == (other.region_low, other.region_high)
    golden(verdict([1.0, 2.0], **MEAN, mean=1.0).reason)
    failed = verdict([math.nan] * 4 + [1.0, 1.1, 1.2, 0.9, 0.8, 1.05], **MEAN, mean=1.0)
    assert failed.verdict == "undecided"
    assert failed.region_low is None
