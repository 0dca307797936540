"""The sentence about errors follows from the verdicts, and its parts from tests written apart from lnlab."""

import math

import numpy as np
import pytest
from scipy import stats

from lnlab.claims.error_bounds import decision_p_value, error_bound, error_sentence, joint_decisions
from lnlab.claims.judging import judge_claim
from tests.claims.conftest import make_experiment

OF = {"quantity": "q", "placement": "a"}


def judged(numbers, look=1, **claim):
    claim = {"id": "it", "says": "So.", "kind": "bound", "of": OF, **claim}
    return judge_claim(claim, make_experiment({"a": numbers, "b": [1.0] * len(numbers)}), look=look)


def test_one_sided_single_looks_sum_to_what_is_printed():
    verdict = judged([2.0, 2.1, 1.9, 2.05, 1.95], at_least=1)
    assert error_bound(verdict) == 0.025
    sentence = error_sentence([verdict] * 6)
    assert sentence.startswith("6 claims, 6 decided, 0 looked at more than once.")
    assert (
        "the verdict of a claim is wrong with probability at most 2.5 %. The expected number of wrong verdicts among "
        "the 6 is at most 0.15, and with probability at least 0.85 none is wrong. 6 stay decided"
    ) in sentence
    assert "among the 12 is at most 0.3, and" in error_sentence([verdict] * 12)


def test_the_sentence_of_one_claim_speaks_of_one():
    numbers = [2.0, 2.1, 1.9, 2.05, 1.95]
    assert error_sentence([judged(numbers, at_least=1)]) == (
        "The page has one claim, which is decided. Whatever the truth, over draws of seeds its verdict is wrong with "
        "probability at most 2.5 %."
    )
    assert "which is not decided. Whatever" in error_sentence([judged(numbers, at_least=2)])
    twice = error_sentence([judged(numbers, look=2, at_least=1)])
    assert "which is decided, after more than one look. Whatever" in twice
    assert " 1 stays decided at a joint" in error_sentence([judged(numbers, at_least=1), judged(numbers, at_least=2)])


def test_what_is_said_of_a_bound_holds_after_rounding():
    numbers = [2.0, 2.1, 1.9, 2.05, 1.95]
    three = error_sentence([judged(numbers, at_least=1)] * 3)
    assert "is at most 0.075, and with probability at least 0.92 none" in three  # 0.925
    assert "at most 6.88 %" in error_sentence([judged(numbers, look=3, between=[1, 3])])  # 6.875


def test_bounds_follow_edges_owners_and_looks():
    numbers = [2.0, 2.1, 1.9, 2.05, 1.95]
    assert error_bound(judged(numbers, between=[1, 3])) == 0.05
    assert error_bound(judged(numbers, at_least=3, margin="ours", no_effect=1)) == 0.05
    assert error_bound(judged(numbers, look=2, at_least=1)) == pytest.approx(0.03125)
    assert error_bound(judged(numbers, look=2, at_least=1, looks="open")) == 0.025
    both = [judged(numbers, at_least=1), judged(numbers, look=3, between=[1, 3])]
    assert "1 looked at more than once" in error_sentence(both)
    assert "2.5 to 6.88 %" in error_sentence(both)


def test_claims_that_no_seed_decides_have_no_error():
    exact = judged([2.0] * 5, at_least=1, exact=True)
    assert error_sentence([exact]) == ""
    assert error_sentence([]) == ""


@pytest.mark.parametrize("look", [1, 2])
@pytest.mark.parametrize("n", [5, 10])
def test_p_values_of_means_are_those_of_student(n, look):
    numbers = np.exp(np.linspace(0.45, 0.8, n))
    t = stats.ttest_1samp(np.log(numbers), math.log(1.2))
    verdict = judged(numbers.tolist(), look, at_least=1.2)
    assert verdict.verdict == "supported"
    assert decision_p_value(verdict) == pytest.approx(t.pvalue)
    linear = judged(numbers.tolist(), look, at_most=1.0, scale="linear")
    assert decision_p_value(linear) == pytest.approx(stats.ttest_1samp(numbers, 1.0).pvalue)
    inside = judged(numbers.tolist(), look, between=[1.2, 3.0])
    expected = max(stats.ttest_1samp(np.log(numbers), math.log(edge)).pvalue for edge in (1.2, 3.0))
    assert decision_p_value(inside) == pytest.approx(expected)


@pytest.mark.parametrize("about", ["median", "share"])
def test_p_values_of_counts_are_those_of_the_sign_test(about):
    verdict = judged([2.0, 2.1, 1.9, 2.05, 1.95, 2.2, 1.8, 2.3], at_least=1.5, about=about)
    assert decision_p_value(verdict) == pytest.approx(stats.binomtest(8, 8, 0.5).pvalue)


def test_holm_counts_what_stays_decided_together():
    clear = judged([2.0, 2.1, 1.9, 2.05, 1.95], at_least=1)
    just = judged([2.0, 2.1, 1.9, 2.05, 1.95], at_least=1.9)
    assert (clear.verdict, just.verdict) == ("supported", "supported")
    assert joint_decisions([just]) == 1
    assert joint_decisions([just] * 10 + [clear]) == 1
    assert joint_decisions([clear] * 10) == 10
