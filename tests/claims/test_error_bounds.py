"""The sentence about errors follows from the verdicts, with bounds worked out by hand."""

import pytest

from lnlab.claims.error_bounds import error_bound, error_sentence
from lnlab.claims.judging import judge_claim
from tests.claims.conftest import make_experiment

OF = {"quantity": "q", "placement": "a"}


def judged(numbers, look=1, **claim):
    claim = {"id": "it", "says": "So.", "kind": "bound", "of": OF, **claim}
    return judge_claim(claim, make_experiment({"a": numbers, "b": [1.0] * len(numbers)}), look=look)


def test_one_sided_single_looks_sum_to_what_is_printed_also_of_one_claim(golden):
    verdict = judged([2.0, 2.1, 1.9, 2.05, 1.95], at_least=1)
    assert error_bound(verdict) == 0.025
    sentence = error_sentence([verdict] * 6)
    golden(sentence)
    assert "among the 12 is at most 0.3, and" in error_sentence([verdict] * 12)
    numbers = [2.0, 2.1, 1.9, 2.05, 1.95]
    golden(error_sentence([judged(numbers, at_least=1)]))
    golden(error_sentence([judged(numbers, at_least=2)]))
    twice = error_sentence([judged(numbers, look=2, at_least=1)])
    golden(twice)
    exact = judged([2.0] * 5, at_least=1, exact=True)
    assert error_sentence([exact]) == ""
    assert error_sentence([]) == ""


def test_what_is_said_of_a_bound_holds_after_rounding_and_follows_edges_owners_and_looks(golden):
    numbers = [2.0, 2.1, 1.9, 2.05, 1.95]
    three = error_sentence([judged(numbers, at_least=1)] * 3)
    golden(three)  # 0.925
    assert "at most 6.88 %" in error_sentence([judged(numbers, look=3, between=[1, 3])])  # 6.875
    numbers = [2.0, 2.1, 1.9, 2.05, 1.95]
    assert error_bound(judged(numbers, between=[1, 3])) == 0.05
    assert error_bound(judged(numbers, at_least=3, margin="ours", no_effect=1)) == 0.05
    assert error_bound(judged(numbers, look=2, at_least=1)) == pytest.approx(0.03125)
    assert error_bound(judged(numbers, look=2, at_least=1, looks="open")) == 0.025
    both = [judged(numbers, at_least=1), judged(numbers, look=3, between=[1, 3])]
    golden(error_sentence(both))
    assert "2.5 to 6.88 %" in error_sentence(both)
