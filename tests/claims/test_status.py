"""How runs end: shares of seeds with exact intervals."""

import math

import pytest
from scipy import stats

from lnlab.claims.judging import judge_claim
from lnlab.errors import LabError

TRAINS = {"kind": "status", "at_least": 0.9}
STATUSES = ("diverged", "failed", "timed_out", "out_of_memory")


def exact(k, n):
    return tuple(stats.binomtest(k, n).proportion_ci(method="exact"))


@pytest.mark.parametrize(
    ("k", "n", "expect", "word"),
    [
        *((k, 6, "trains", word) for k, word in ((6, "supported"), (5, "undecided"), (0, "contradicted"))),
        *((k, 6, "fails", word) for k, word in ((0, "supported"), (6, "contradicted"))),
        *((k, 10, "trains", word) for k, word in ((9, "supported"), (8, "undecided"))),
        *((k, 10, "fails", word) for k, word in ((2, "undecided"), (1, "supported"))),
        (5, 5, "trains", "undecided"),  # too few by rule
    ],
)
def test_seeds_that_train_are_counted_exactly(verdict, k, n, expect, word, golden):
    found = verdict([1.0] * k + [0.2] * (n - k), **TRAINS, expect=expect)
    assert (found.verdict, found.n, found.inside, found.estimate) == (word, n, k, k / n)
    assert (found.low, found.high) == pytest.approx(exact(k, n))
    assert (found.region_low, found.region_high) == ((0.5, None) if expect == "trains" else (None, 0.5))
    assert found.seeds == {seed: float(seed <= k) for seed in range(1, n + 1)}
    golden(found.reason)


@pytest.mark.parametrize("region", [{"at_least": 0.9}, {"at_most": 0.9}, {"between": [-1, 99]}])
def test_a_seed_that_failed_trains_in_no_region(verdict, region, golden):
    """NaN, infinity and divergence are on no side; a number that stands though the run diverged is one."""
    found = verdict(
        [math.nan, math.inf, None] + [0.9] * 6,
        kind="status",
        **region,
        status=lambda a, s: "finished" if s != 3 else "diverged",
    )
    assert (found.inside, found.n) == (6, 9)
    golden(found.reason)
    alone = verdict([None] * 6, kind="status", **region, status=lambda a, s: "diverged")
    assert (alone.verdict, alone.inside) == ("contradicted", 0)


@pytest.mark.parametrize("word", STATUSES[1:])
def test_what_cannot_be_known_counts_against_either_verdict(verdict, word):
    ended = lambda a, s: word if s <= 2 else "finished"  # noqa: E731
    for share, expect in ((1.0, "trains"), (0.0, "fails")):
        found = verdict([None] * 2 + [share] * 6, **TRAINS, expect=expect, status=ended)
        assert found.verdict == "undecided"
        k = 6 if share else 0
        assert (found.low, found.high) == pytest.approx((exact(k, 8)[0], exact(k + 2, 8)[1]))
        assert found.reason.endswith(f"2 {word}")
        assert verdict([share] * 8, **TRAINS, expect=expect).verdict == "supported"


def test_a_run_that_a_rule_stopped_counts_by_the_number_it_had(verdict, golden):
    """And in no other kind of claim."""
    cut = {"step": 100, "done": lambda a, s: 40 if s <= 3 else 100}
    found = verdict([0.1] * 3 + [1.0] * 7, **TRAINS, **cut)
    assert (found.inside, found.n) == (7, 10)
    assert found.reason.endswith("3 stopped at step 40 by its rule")
    other = verdict([0.1] * 3 + [1.0] * 7, kind="bound", at_least=0.5, **cut)
    assert (other.verdict, other.n) == ("undecided", 7)
    golden(other.reason)


def test_an_exact_bound_reads_no_sample_of_a_run_that_was_cut_short(verdict):
    cut = {"kind": "bound", "exact": True, "at_most": 1, "done": lambda a, s: 40 if s == 1 else 100}
    found = verdict([9.0, 1.0], step=100, **cut)
    assert (found.verdict, found.n) == ("undecided", 1)
    assert verdict([9.0, 1.0], step=0, **cut).verdict == "contradicted"


def test_a_verdict_waits_for_every_run(verdict, golden):
    ended = lambda a, s: "finished" if s < 8 else None if s == 8 else "interrupted"  # noqa: E731
    found = verdict([1.0] * 7 + [None] * 2, **TRAINS, status=ended)
    assert found.verdict == "undecided"
    golden(found.reason)


@pytest.mark.parametrize("claim", [{}, {"at_least": 2, "at_most": 1}, {"at_least": 1, "status": "diverged"}])
def test_mistakes_and_runs_that_are_not_there(experiment, claim, golden):
    results = experiment({"a": [1.0] * 6, "b": [1.0] * 6})
    with golden.raises(LabError):
        judge_claim({"id": "x", "kind": "status", "of": {"placement": "a"}, **claim}, results)
    gone = {"id": "x", "kind": "status", "of": {"placement": "c"}, "at_least": 1}
    assert judge_claim(gone, results).verdict == "not testable here"
