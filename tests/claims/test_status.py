"""How runs end: shares of seeds with exact intervals, and two settings on the same seeds."""

import math
import re

import pytest
from scipy import stats

from lnlab.claims.criterion import Criterion
from lnlab.claims.judging import judge_claim
from lnlab.claims.kinds.status import SeedTally, mcnemar_finding
from lnlab.claims.outlook import alike_seeds
from lnlab.claims.region import Region
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


def test_ways_to_end_are_counted(verdict, golden):
    """``ended`` is how a run ended, ``status`` what the claim counts."""
    ended = lambda a, s: "diverged" if s <= 6 else "out_of_memory" if s == 7 else "finished"  # noqa: E731
    claim = {"kind": "status", "of": {"placement": "a"}, "ended": ended, "step": 9}
    numbers = [None] * 7 + [1.0] * 2
    found = verdict(numbers, **claim, status="diverged")
    assert (found.inside, found.n) == (6, 9)
    golden(found.reason)
    assert found.reason.endswith("6 diverged; 1 out_of_memory")
    assert verdict(numbers, **claim, status=["diverged", "out_of_memory"]).inside == 7
    assert verdict(numbers, **claim, status="finished").inside == 2
    assert verdict(numbers, **claim, status="finished", done=lambda a, s: 5 if s == 9 else 9).inside == 1
    assert verdict(numbers, **claim, status="stopped", done=lambda a, s: 5 if s == 9 else 9).inside == 1


def test_a_verdict_waits_for_every_run(verdict, golden):
    ended = lambda a, s: "finished" if s < 8 else None if s == 8 else "interrupted"  # noqa: E731
    for claim in (TRAINS, {"kind": "status", "of": {"placement": "a"}}):
        told = {"ended": ended, "status": "finished"} if claim is not TRAINS else {"status": ended}
        found = verdict([1.0] * 7 + [None] * 2, **claim, **told)
        assert found.verdict == "undecided"
        golden(found.reason)


def two(a, b, **more):
    return {"kind": "status", "at_least": 0.9, "to": {"placement": "b"}, **more}, {"a": a, "b": b}


@pytest.mark.parametrize(
    ("only_a", "only_b", "both", "expect", "word"),
    [
        (6, 0, 0, "trains", "supported"),
        (6, 0, 9, "trains", "supported"),
        (5, 0, 9, "trains", "undecided"),
        (0, 6, 3, "trains", "contradicted"),
        (0, 6, 3, "fails", "supported"),
        (9, 1, 0, "trains", "supported"),
        (8, 2, 9, "trains", "undecided"),
    ],
)
def test_two_settings_are_compared_on_the_seeds_that_tell_them_apart(verdict, only_a, only_b, both, expect, word):
    a = [1.0] * only_a + [math.nan] * only_b + [1.0] * both
    b = [0.1] * only_a + [1.0] * only_b + [1.0] * both
    claim, arms = two(a, b, expect=expect)
    found = verdict(arms, **claim)
    assert (found.verdict, found.inside, found.n) == (word, only_a, only_a + only_b)
    assert (found.low, found.high) == pytest.approx(exact(only_a, only_a + only_b))
    assert f"only with 'of' on {only_a} seeds, only with 'to' on {only_b}, alike on {both}" in found.reason
    assert sorted(found.seeds.values()) == [0.0] * only_b + [0.5] * both + [1.0] * only_a


def test_settings_that_no_seed_tells_apart_are_undecided_and_an_unknown_seed_may_be_any(verdict, golden):
    claim, arms = two([1.0] * 8, [1.0] * 8)
    found = verdict(arms, **claim)
    assert (found.verdict, found.estimate, found.n) == ("undecided", None, 0)
    golden(found.reason)
    claim, arms = two([1.0] * 8, [0.1] * 7 + [None])
    found = verdict(arms, **claim, status=lambda a, s: "timed_out" if (a, s) == ("b", 8) else "finished")
    assert (found.low, found.high) == pytest.approx((exact(7, 8)[0], exact(8, 8)[1]))
    assert found.verdict == "undecided"


MISTAKES = [{}, {"at_least": 1, "at_most": 2}, {"status": "diverged", "at_least": 1}, {"status": "exploded"}]


@pytest.mark.parametrize("claim", [*MISTAKES, {"status": "diverged", "of": {}}])
def test_mistakes_and_runs_that_are_not_there(experiment, claim, golden):
    results = experiment({"a": [1.0] * 6, "b": [1.0] * 6})
    with golden.raises(LabError):
        judge_claim({"id": "x", "kind": "status", "of": {"placement": "a"}, **claim}, results)
    gone = {"id": "x", "kind": "status", "of": {"placement": "c"}, "status": "diverged"}
    assert judge_claim(gone, results).verdict == "not testable here"


@pytest.mark.parametrize(("k", "other", "alike"), [(3, 1, 6), (4, 2, 1)])
def test_as_many_seeds_are_asked_for_as_hold_enough_that_tell_two_settings_apart(k, other, alike):
    """Only seeds on which they differ tell them apart; of a fraction of a seed the whole one is needed."""
    total = k + other + alike
    met = [(True, False)] * k + [(False, True)] * other + [(True, True)] * alike
    sides = [SeedTally({seed: pair[n] for seed, pair in enumerate(met, 1)}, {}, (), {}) for n in (0, 1)]
    reason = mcnemar_finding(*sides, "it ends", Region(0.5, None)).reason
    telling = alike_seeds(k, k + other, 1 - Criterion().next_level)
    (asked,) = (int(number) for number in re.findall(r"about ([\d,]+) seeds", reason.replace(",", "")))
    assert asked * (k + other) >= telling * total > (asked - 1) * (k + other)
    assert telling * total % (k + other), "a case without a fraction shows nothing"
