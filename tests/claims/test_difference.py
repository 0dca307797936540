"""Differences within the seed: intervals by closed form, all verdicts, failures, and a margin of ours."""

import numpy as np
import pytest
from scipy import stats

TO = {"kind": "difference", "to": {"placement": "b"}}


def test_the_interval_is_student_s_on_differences(verdict):
    a, b = np.array([3.0, -1.0, 0.0, 2.0, 5.0]), np.array([1.0, -4.0, -1.0, 1.1, 2.5])
    found = verdict({"a": a, "b": b}, **TO, at_least=0.1)
    d = a - b
    low, high = stats.t.interval(0.95, 4, loc=d.mean(), scale=stats.sem(d))
    assert (found.estimate, found.low, found.high) == pytest.approx((d.mean(), low, high))
    assert (found.verdict, found.statistic, found.measure, found.n) == ("supported", "difference", "difference", 5)
    assert found.seeds == pytest.approx(dict(enumerate(d, 1)))


@pytest.mark.parametrize(
    ("region", "word"),
    [
        ({"at_least": -0.5}, "supported"),
        ({"at_least": 0.5}, "contradicted"),
        ({"at_least": 0.1}, "undecided"),
        ({"at_most": 0.5}, "supported"),
        ({"between": [-0.2, 0.4]}, "supported"),
        ({"between": [0.4, 0.5]}, "contradicted"),
    ],
)
def test_every_region_may_hold_zero_and_less(verdict, region, word):
    base = np.array([-1.0, 0.0, 1.0, 2.0, 3.0])
    found = verdict({"a": base + np.array([0.0, 0.1, 0.1, 0.2, 0.1]), "b": base}, **TO, **region)
    assert found.verdict == word, found.reason


@pytest.mark.parametrize(
    ("shift", "word"), [(0.5, "supported"), (0.2, "smaller"), (0.01, "contradicted"), (-0.3, "contradicted")]
)
def test_a_margin_of_ours_is_measured_from_no_difference(verdict, shift, word):
    noise = np.array([-0.01, 0.0, 0.01, 0.0, 0.0])
    numbers = {"a": 1 + shift + noise, "b": np.ones(5)}
    found = verdict(numbers, **TO, at_least=0.4, margin="ours", zone=0.05)
    assert found.verdict == word, found.reason


@pytest.mark.parametrize(
    ("arm", "region", "word"),
    [
        ("b", {"at_most": -5}, "supported"),
        ("b", {"at_least": -5}, "contradicted"),
        ("a", {"at_least": 5}, "supported"),
        ("a", {"at_most": 5}, "contradicted"),
    ],
)
def test_a_failure_ranks_as_the_largest_number_of_its_side(verdict, arm, region, word):
    """The median of a - b lies below every number where b fails on nearly all seeds, and above where a does."""
    fails = lambda side, seed: "diverged" if side == arm and seed > 1 else "finished"  # noqa: E731
    numbers = {side: [1.0] + [None if side == arm else 1.0] * 15 for side in "ab"}
    found = verdict(numbers, **TO, about="median", status=fails, step=3, finish=0.01, **region)
    assert found.verdict == word, found.reason
