"""The author's answer is filled in from verdicts, and compared with those that it was written for."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lnlab.claims.claim import Verdict
from lnlab.claims.verdict_text import MINUS
from lnlab.report.facts import ReportFacts
from lnlab.report.words.answer_text import answer_of_headings, answers_of_profile, fill_answer, outdated_claims

NBSP = "\u00a0"
GROWS = Verdict(
    claim="grows",
    kind="bound",
    says="It grows.",
    primary=True,
    role="source",
    verdict="supported",
    statistic="last/first",
    estimate=6.31,
    low=5.2,
    high=7.6,
    region_low=2.5,
    region_high=None,
    n=10,
    inside=10,
    seeds={},
    reason="",
    scope="",
)
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


OPEN = SimpleNamespace(verdict="undecided", says="The two are alike.")
WRONG = SimpleNamespace(verdict="contradicted", says="It rises.")
UNSTOPPED = SimpleNamespace(verdict="undecided", says="Warm-up ends lower")
ASKED = SimpleNamespace(verdict="contradicted", says="Does it rise?")
HELD = SimpleNamespace(verdict="supported", says="It grows.")


@pytest.mark.parametrize(
    ("headings", "verdicts", "answer"),
    [
        ([("Norms", "LayerNorm grows 4×")], [HELD], "LayerNorm grows 4×."),
        ([("Norms", "LayerNorm grows 4×.")], [HELD, OPEN], "LayerNorm grows 4×. Undecided: The two are alike."),
        ([("A", "The loss falls"), ("B", "Pre-LN rises")], [], "A: the loss falls. B: Pre-LN rises."),
        ([("A", "It falls")], [OPEN, OPEN], "It falls. All 2 claims are undecided."),
        ([("A", "It falls")], [OPEN, OPEN, HELD], "It falls. 2 of 3 claims are undecided."),
        ([("A", "It falls")], [WRONG, OPEN], "It falls. Contradicted: It rises. Undecided: The two are alike."),
        ([("A", "It falls")], [UNSTOPPED, HELD], "It falls. Undecided: Warm-up ends lower."),
        (
            [("A", "It falls")],
            [ASKED, UNSTOPPED],
            "It falls. Contradicted: Does it rise? Undecided: Warm-up ends lower.",
        ),
        ([], [OPEN], ""),
    ],
)
def test_an_answer_that_nobody_wrote_is_made_of_headings_and_says_what_is_open(headings, verdicts, answer):
    assert answer_of_headings(headings, verdicts) == answer


@given(
    st.lists(st.tuples(st.sampled_from(["", "Title"]), st.text("ab ;.", max_size=400)), max_size=4), st.integers(0, 9)
)
def test_it_has_at_most_forty_words(headings, n_open):
    made = answer_of_headings(headings, [OPEN] * n_open + [HELD])
    assert len(made.split()) <= 40


def test_a_long_heading_loses_its_last_clauses():
    heading = "; ".join(f"variant {n} " + "grows and grows " * 4 for n in range(5))
    made = answer_of_headings([("", heading)], [])
    assert made.startswith("variant 0 grows")
    assert 20 <= len(made.split()) <= 40
