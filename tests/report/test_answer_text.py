"""The author's answer is filled in from verdicts, and compared with those that it was written for."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lnlab.claims.verdict_text import MINUS
from lnlab.report.facts import ReportFacts
from lnlab.report.words.answer_text import answers_of_profile, fill_answer, outdated_claims, verdict_answer
from tests.report.conftest import verdict

NBSP = "\u00a0"
GROWS = replace(verdict("grows", {1: 5.2}, says="It grows.", primary=True), estimate=6.31, low=5.2, high=7.6, n=10)
EACH = replace(GROWS, claim="grows[Pre-LN, 6]", verdict="undecided", estimate=-0.5, low=-0.6, high=-0.4, n=4)
LOST = replace(GROWS, claim="lost", verdict="not testable here", estimate=None, low=None, high=None, n=0)
JUDGED = [GROWS, EACH, LOST]


def test_an_answer_is_filled_with_estimates_intervals_and_seeds():
    says = "It grows {grows}-fold ({grows.n} seeds)."
    assert fill_answer(says, JUDGED) == f"It grows 6.3 [5.2,{NBSP}7.6]-fold (10 seeds)."


def test_an_estimate_stands_alone_with_the_digits_that_its_interval_allows():
    assert fill_answer("{grows.estimate}-fold, {each.estimate}", [*JUDGED, replace(EACH, claim="each")]) == (
        f"6.3-fold, {MINUS}0.50"
    )
    alike = replace(GROWS, low=6.31, high=6.31)
    assert fill_answer("{grows.estimate} and {lost.estimate}", [alike, LOST]) == "6.31 and –"
    small = replace(GROWS, estimate=3.6e-6, low=1.2e-6, high=9e-6)
    assert fill_answer("{grows.estimate}", [small]) == f"4{NBSP}×{NBSP}10⁻⁶"


def test_a_claim_for_each_value_is_named_with_its_value():
    expected = f"{MINUS}0.50 [{MINUS}0.60,{NBSP}{MINUS}0.40] of 4"
    assert fill_answer("{grows[Pre-LN, 6]} of {grows[Pre-LN, 6].n}", JUDGED) == expected


def test_a_claim_without_an_estimate_has_a_dash_and_its_seeds():
    assert fill_answer("{lost} on {lost.n}", JUDGED) == "– on 0"


def test_braces_of_no_judged_claim_stay_visible():
    says = "{grown}, {grown.n}, {x_{l}}, {}, { and }"
    assert fill_answer(says, JUDGED) == says


def test_text_of_a_number_is_not_filled_again():
    assert fill_answer("{{grows}}", [replace(GROWS, low=None, estimate=3.0)]) == "{3.00}"


def test_an_answer_is_outdated_by_the_claims_whose_verdict_moved_or_is_not_there():
    answer = {"says": "", "while": {"lost": "supported", "grows": "supported", "gone": "undecided"}, "profile": "real"}
    assert outdated_claims(answer, JUDGED) == ["lost", "gone"]
    assert outdated_claims({**answer, "while": {"grows": "supported"}}, JUDGED) == []


def test_an_answer_is_about_one_profile():
    answers = tuple({"says": says, "while": {}, "profile": says} for says in ("real", "paper", None))
    facts = ReportFacts(name="a", title="A", spec="", path="a.yaml", digest="", version="", answers=answers)
    assert answers_of_profile(facts) == [answers[2]]
    assert answers_of_profile(replace(facts, profile="real")) == [answers[0]]


def test_a_count_of_edges_is_a_count():
    counted = replace(GROWS, estimate=4.0, low=None, high=None, measure="edges")
    assert fill_answer("{grows} of fourteen", [counted]) == "4 of fourteen"


OPEN = replace(GROWS, verdict="undecided", says="The two are alike.", inside=4)
WRONG = replace(GROWS, verdict="contradicted", says="It rises.")
HELD = GROWS


@pytest.mark.parametrize(
    "verdicts",
    [
        [HELD],
        [replace(HELD, primary=False), WRONG],
        [replace(WRONG, measure="ratio", detail="the other way")],
        [replace(OPEN, measure="share", inside=4)],
        [LOST],
        [],
    ],
)
def test_where_nobody_wrote_an_answer_the_verdicts_are_it(verdicts, golden):
    golden(verdict_answer(verdicts))


@given(st.lists(st.text("ab ;.", min_size=1, max_size=400), max_size=4), st.integers(0, 9))
def test_it_has_at_most_forty_words(sentences, n_open):
    made = verdict_answer([replace(GROWS, says=text) for text in sentences] + [OPEN] * n_open)
    assert len(made.split()) <= 40
