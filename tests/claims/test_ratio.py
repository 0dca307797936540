"""Ratios within the seed: intervals by closed form, all four verdicts, zeros, failures."""

import math

import numpy as np
import pytest
from scipy import stats

from lnlab.errors import LabError

TO = {"kind": "ratio", "to": {"placement": "b"}}
LAST_OVER_FIRST = {"over": "layer", "reduce": "last/first"}


def test_the_interval_is_student_s_on_the_logarithms_paired_by_seed(verdict):
    a, b = np.array([3.0, 8.0, 20.0, 2.0]), np.array([1.0, 4.0, 9.0, 1.1])
    found = verdict({"a": a, "b": b}, **TO, at_least=1.5)
    logs = np.log(a / b)
    low, high = stats.t.interval(0.95, 3, loc=logs.mean(), scale=stats.sem(logs))
    assert (found.estimate, found.low, found.high) == pytest.approx(tuple(np.exp([logs.mean(), low, high])))
    assert found.verdict == "supported"
    assert (found.statistic, found.n, found.inside) == ("ratio", 4, 4)
    assert found.seeds == pytest.approx(dict(enumerate(a / b, 1)))
    assert (found.region_low, found.region_high) == (1.5, None)


REGIONS = {
    "supported": [{"at_least": 1.5}, {"at_most": 2.5}, {"between": [1.8, 2.2]}, {"equals": 2.2},
                  {"equals": 3, "factor": 2}],
    "contradicted": [{"at_least": 2.5}, {"at_most": 1.5}, {"between": [2.2, 2.5]}, {"equals": 3}],
    "undecided": [{"at_least": 1.95}, {"between": [1.99, 2.01]}, {"equals": 2.45}],
}  # fmt: skip


@pytest.mark.parametrize("word", REGIONS)
def test_every_region_and_equals_is_a_factor_on_both_sides(verdict, exactly, word):
    arms = {"a": exactly(2, 0.05, 10), "b": np.ones(10)}
    for region in REGIONS[word]:
        found = verdict(arms, **TO, **region)
        assert (found.verdict, found.estimate) == (word, pytest.approx(2)), region
    found = verdict(arms, **TO, equals=2)
    assert (found.region_low, found.region_high) == (1.6, 2.5)


def test_undecided_says_how_many_seeds_would_decide_at_the_next_look(verdict, exactly):
    found = verdict({"a": exactly(2, 0.2, 5), "b": np.ones(5)}, **TO, at_least=1.8)
    gap = math.log(2 / 1.8)
    expected = [
        next(n for n in range(2, 101) if stats.t.ppf(1 - 0.0125 / 2, n - 1) * sd / math.sqrt(n) < gap)
        for sd in (0.2, *(0.2 * math.sqrt(4 / stats.chi2.ppf(p, 4)) for p in (0.8, 0.2)))
    ]
    assert found.verdict == "undecided"
    assert "about {} seeds would decide ({} to {})".format(*expected) in found.reason
    assert "on the edge" in verdict({"a": exactly(2, 0.2, 5), "b": np.ones(5)}, **TO, at_least=1.999).reason


def test_a_reduction_on_both_sides(verdict):
    a, b = np.outer([1.0, 1.1, 0.9], [1, 2, 8]), np.outer([1.0, 1.0, 1.0], [1, 1, 2])
    found = verdict({"a": a, "b": b}, **TO, **LAST_OVER_FIRST, at_least=2)
    assert (found.verdict, found.estimate) == ("supported", pytest.approx(4))
    assert found.statistic == "ratio of last/first"
    found = verdict({"a": [[1.0, 4.0]] * 5 + [[0.0, 4.0]], "b": [[1.0, 1.0]] * 6}, **TO, **LAST_OVER_FIRST, at_least=2)
    assert (found.verdict, found.n, found.estimate) == ("supported", 5, pytest.approx(4)), "none over zero"


@pytest.mark.parametrize(
    ("region", "word", "which", "ratio"),
    [
        ({"at_most": 2.2}, "supported", "largest", 2),
        ({"at_most": 1.8}, "contradicted", "largest", 2),
        ({"at_least": 0.4}, "supported", "smallest", 0.5),
        ({"at_least": 0.6}, "contradicted", "smallest", 0.5),
        ({"between": [0.4, 2.2]}, "supported", "largest", 2),
        ({"between": [0.4, 1.8]}, "contradicted", "largest", 2),
        ({"between": [0.6, 2.2]}, "contradicted", "smallest", 0.5),
        ({"equals": 1.1, "factor": 2.4}, "supported", "smallest", 0.5),
    ],
)
def test_without_a_reduction_it_must_hold_at_every_x(verdict, exactly, region, word, which, ratio):
    noise = exactly(1, 0.02, 5)
    arms = {"a": np.outer(noise, [2.0, 6, 4]), "b": np.outer(np.ones(5), [4.0, 3, 4])}
    found = verdict(arms, **TO, over="layer", **region)
    assert (found.verdict, found.statistic) == (word, f"{which} ratio over layer"), found.reason
    assert found.estimate == pytest.approx(ratio)


def test_a_ratio_at_every_x_has_none_where_a_number_is_zero(verdict):
    a = [[2.0, 2.0]] * 4 + [[2.0, 0.0]]
    for arms in ({"a": a, "b": np.ones((5, 2))}, {"a": np.ones((5, 2)), "b": a}, {"a": a, "b": a}):
        for region in ({"at_most": 3}, {"at_least": 0.1}):
            found = verdict(arms, **TO, over="layer", **region)
            assert (found.verdict, found.n) == ("supported", 4), found.reason
            assert "1 of 5 seeds" in found.reason


@pytest.mark.parametrize(
    ("numbers", "word", "n"),
    [
        ([2.0, 2.1, 0.0, 2.0, 1.9, 2.0], "supported", 5),
        ([2.0, 2.1, 0.0, 0.0, 1.9, 2.0], "undecided", 4),
        ([0.0] * 5, "undecided", 0),
        ([2.0, 2.1, math.nan, 2.0, 1.9], "supported", 4),
    ],
)
def test_zeros_and_failed_seeds_are_left_out_and_counted_and_many_leave_it_undecided(verdict, numbers, word, n, golden):
    found = verdict({"a": numbers, "b": [1.0] * len(numbers)}, **TO, at_least=1.5)
    assert (found.verdict, found.n) == (word, n)
    golden(found.reason)


def test_where_many_failed_a_share_ranks_them_largest_and_a_mean_is_withheld(verdict, golden):
    a = [math.nan] * 3 + [2.0] * 7
    found = verdict({"a": a, "b": [1.0] * 10}, **TO, at_least=1.5)
    assert (found.verdict, found.estimate) == ("undecided", None)
    golden(found.reason)
    found = verdict({"a": a, "b": [1.0] * 10}, **TO, at_least=1.5, about="share")
    assert (found.verdict, found.inside, found.n) == ("supported", 10, 10)
    assert found.low == pytest.approx(0.025 ** (1 / 10))
    golden(found.statistic)
    assert set(found.seeds) == set(range(4, 11))
    found = verdict({"a": [1.0] * 10, "b": a}, **TO, at_least=1.5, about="share")
    assert (found.verdict, found.inside) == ("contradicted", 0)
    tie = {"a": [math.nan] * 4 + [2.0] * 5, "b": [math.nan] * 4 + [1.0] * 5}
    found = verdict(tie, **TO, at_least=1.5)
    assert (found.verdict, found.n) == ("undecided", 5)


def test_runs_to_come_and_seeds_lost_to_the_machine_leave_it_undecided(verdict, golden):
    arms = {"a": [2.0, 2.0, 2.0, 2.0, None], "b": [1.0] * 5}
    waiting = verdict(
        arms, **TO, at_least=1.5, status=lambda arm, seed: None if (arm, seed) == ("a", 5) else "finished"
    )
    golden(waiting.reason)
    lost = lambda arm, seed: "out_of_memory" if (arm, seed) == ("a", 5) else "finished"  # noqa: E731
    assert verdict(arms, **TO, at_least=1.5, status=lost).verdict == "supported"
    arms = {"a": [2.0, 2.0, 2.0, None, None], "b": [1.0] * 5}
    lost = lambda arm, seed: "timed_out" if arm == "a" and seed > 3 else "finished"  # noqa: E731
    golden(verdict(arms, **TO, at_least=1.5, status=lost).reason)


@pytest.mark.parametrize(
    "region", [{}, {"at_least": 1, "at_most": 2}, {"between": [2, 1]}, {"at_most": -1}, {"equals": 2, "factor": 1}]
)
def test_a_region_that_makes_no_sense_is_refused_and_places_that_differ(verdict, region, golden):
    with golden.raises(LabError):
        verdict({"a": np.ones(3), "b": np.ones(3)}, **TO, **region)
    with golden.raises(LabError):
        verdict({"a": np.ones((3, 2)), "b": np.ones((3, 3))}, **TO, over="layer", at_least=1)
