"""The author's answer is filled in from verdicts, and compared with those that it was written for."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lnlab.claims.claim import Verdict
from lnlab.claims.verdict_text import MINUS
from lnlab.report.facts import ReportFacts
from lnlab.report.words.answer_text import answers_of_profile, fill_answer, made_answer, outdated_claims

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


OPEN = replace(GROWS, verdict="undecided", says="The two are alike.", inside=4)
NEEDS = replace(OPEN, says="Warm-up ends lower", inside=0, n=4, reason="4 seeds; a verdict needs 5, by rule")
WRONG = replace(GROWS, verdict="contradicted", says="It rises.")
ASKED = replace(GROWS, verdict="contradicted", says="Does it rise?")
HELD = GROWS


@pytest.mark.parametrize(
    ("headings", "verdicts", "answer"),
    [
        ([("Norms", "LayerNorm grows 4×")], [HELD], "LayerNorm grows 4×. It grows: the estimate is 6.3."),
        (
            [("Norms", "LayerNorm grows 4×.")],
            [HELD, OPEN],
            "LayerNorm grows 4×. It grows: the estimate is 6.3. Undecided, as seeds disagree: “The two are alike”; "
            "the estimate is 6.3.",
        ),
        ([("A", "The loss falls"), ("B", "Pre-LN rises")], [], "A: the loss falls. B: Pre-LN rises."),
        (
            [("A", "It falls")],
            [WRONG, NEEDS],
            "It falls. Contradicted: “It rises”; the estimate is 6.3. Undecided, though no seed agrees: "
            "“Warm-up ends lower”; the estimate is 6.3, and a verdict needs 5 seeds.",
        ),
        ([("A", "It falls")], [ASKED], "It falls. Contradicted: “Does it rise?”; the estimate is 6.3."),
        (
            [("A", "It falls")],
            [replace(LOST, verdict="ill-posed"), LOST],
            "It falls. Ill-posed: “It grows”. Not testable here: “It grows”.",
        ),
        (
            [("A", "A grows 2× [1, 3]; B grows 3×; 2 more in the figure")],
            [],
            "A grows 2×; B grows 3×.",
        ),
        ([("", "A grows 2×; B grows 3×"), ("", "C grows 4×")], [], "A grows 2×; B grows 3×."),
        ([], [OPEN], "Undecided, as seeds disagree: “The two are alike”; the estimate is 6.3."),
    ],
)
def test_an_answer_that_nobody_wrote_is_made_of_headings_and_says_what_is_open(headings, verdicts, answer):
    assert made_answer(headings, verdicts) == answer


LOWER = replace(
    GROWS,
    kind="order",
    measure="difference",
    statistic="layer - rms",
    says="LayerNorm ends lower.",
    estimate=-0.52,
    low=-0.6,
    high=-0.44,
    inside=5,
    n=5,
)
HEADINGS = [("Losses", "The validation loss ends at 2.1 at learning rate 0.1, and at 2.9 at learning rate 1")]
NAMES = {"layer": "LayerNorm", "rms": "RMSNorm"}


@pytest.mark.parametrize(
    ("claim", "answer"),
    [
        (LOWER, f"LayerNorm ends lower: LayerNorm minus RMSNorm is {MINUS}0.52."),
        (
            replace(LOWER, verdict="contradicted", inside=0),
            f"Contradicted: “LayerNorm ends lower”; LayerNorm minus RMSNorm is {MINUS}0.52.",
        ),
        (
            replace(LOWER, verdict="undecided", inside=0, reason="4 seeds; a verdict needs 5, by rule"),
            "Undecided, though no seed agrees: “LayerNorm ends lower”; "
            f"LayerNorm minus RMSNorm is {MINUS}0.52, and a verdict needs 5 seeds.",
        ),
        (
            replace(
                LOWER, verdict="undecided", inside=0,
                reason="4 seeds; a verdict needs 5, by rule; about 8 seeds would decide: 4 more for a look at 8",
            ),
            "Undecided, though no seed agrees: “LayerNorm ends lower”; "
            f"LayerNorm minus RMSNorm is {MINUS}0.52, and about 8 seeds would decide.",
        ),
        (
            replace(
                LOWER, verdict="undecided", inside=3, measure="ratio", statistic="mean of layer / rms", estimate=1.03,
                low=0.88, high=1.2, reason="the 95 % interval 0.88 to 1.2 ...; about 25 seeds would decide (18 to 55)",
            ),
            "Undecided, as seeds disagree: “LayerNorm ends lower”; "
            "LayerNorm / RMSNorm is 1.03, and about 25 seeds would decide.",
        ),
        (
            replace(LOWER, kind="ratio", measure="ratio", statistic="ratio", verdict="smaller", estimate=1.03),
            "Smaller than claimed: “LayerNorm ends lower”; the ratio is 1.03.",
        ),
    ],
)  # fmt: skip
def test_a_claim_that_compares_answers_before_a_heading_that_names_one_arm_twice(claim, answer):
    made = made_answer(HEADINGS, [HELD, claim], NAMES)
    assert made.startswith(answer)
    assert made.removeprefix(answer) in (" It grows: the estimate is 6.3.", " Supported: “It grows”.")


WARM_UP = replace(
    LOWER,
    says="With warm-up the model ends at least 0.05 nats lower than without.",
    statistic="warm-up - no warm-up",
    quantity="nll",
    verdict="contradicted",
    estimate=0.36,
    low=0.16,
    high=0.56,
    region_low=None,
    region_high=-0.05,
)


@pytest.mark.parametrize(
    ("question", "claim", "start"),
    [
        (
            "Does the model end lower with warm-up?",
            WARM_UP,
            "No: the negative log likelihood is 0.36 nats higher with warm-up than with no warm-up.",
        ),
        (
            "On my text, does it end lower with warm-up?",
            replace(WARM_UP, verdict="supported", estimate=-0.36, low=-0.56, high=-0.16),
            "Yes: the negative log likelihood is 0.36 nats lower with warm-up than with no warm-up.",
        ),
        # lower, though by less than the claim demands
        ("Does it end lower with warm-up?", replace(WARM_UP, estimate=-0.02, low=-0.03, high=-0.01), "Contradicted: "),
        ("Does it end higher with warm-up?", WARM_UP, "Contradicted: “With warm-up"),
        ("Does it end lower with no warm-up?", WARM_UP, "Contradicted: “With warm-up"),
        ("How much lower does it end with warm-up?", WARM_UP, "Contradicted: “With warm-up"),
        ("Does it end lower with warm-up?", replace(WARM_UP, verdict="undecided"), "Undecided"),
    ],
)
def test_a_question_that_one_claim_decides_is_answered_with_yes_or_no(question, claim, start):
    assert made_answer([], [claim], NAMES, question).startswith(start)


def test_every_claim_is_named_or_counted():
    claims = [replace(WRONG, kind="ratio", measure="ratio", statistic="ratio", says=f"Claim {n}.") for n in range(3)]
    made = made_answer([], claims, NAMES)
    assert all(f"Contradicted: “Claim {n}”; the ratio is 6.3." in made for n in range(3))
    long = [replace(claim, says=f"{claim.says} " + "so it is " * 7) for claim in claims]
    assert made_answer([], long, NAMES).endswith(" 2 more claims below: 2 contradicted.")
    assert made_answer([], long[:2], NAMES).endswith(" 1 more claim below: contradicted.")


def test_which_of_a_grid_is_answered_by_the_heading_that_ranks():
    ranked = ("Accuracy", "The accuracy is highest at learning rate 0.1")
    question = "Which learning rate is best?"
    assert made_answer([("", "The loss ends at 2.1"), ranked], [LOWER], NAMES, question).startswith(f"{ranked[1]}.")
    assert made_answer([ranked], [LOWER], NAMES, "Is LayerNorm better?").startswith("LayerNorm ends lower")


def test_a_primary_comparison_answers_before_another():
    first = replace(LOWER, primary=False, says="First.")
    assert made_answer(HEADINGS, [first, LOWER], NAMES).startswith("LayerNorm ends lower:")


@given(
    st.lists(st.tuples(st.sampled_from(["", "Title"]), st.text("ab ;.", max_size=400)), max_size=4), st.integers(0, 9)
)
def test_it_has_at_most_forty_words(headings, n_open):
    made = made_answer(headings, [OPEN] * n_open + [HELD])
    assert len(made.split()) <= 40


def test_a_long_heading_loses_its_last_clauses():
    heading = "; ".join(f"variant {n} " + "grows and grows " * 4 for n in range(5))
    made = made_answer([("", heading)], [])
    assert made.startswith("variant 0 grows")
    assert 20 <= len(made.split()) <= 40


def test_a_question_for_the_highest_is_not_answered_with_the_lowest_too():
    low, high = "at 0.65 with A, the lowest of 3", "at 0.97 with B, indistinguishable from C"
    headings = [("", f"The accuracy ends {low}, and {high}")]
    asked = "Which of three has the {} accuracy?"
    others = [replace(GROWS, says="It is " + "so " * 30), replace(OPEN, says="It is " + "so " * 30)]
    made = made_answer(headings, others, {}, asked.format("highest"))
    assert made == f"The accuracy ends {high}. 2 more claims below: 1 supported, 1 undecided."
    assert made_answer(headings, [], {}, asked.format("lowest")) == f"The accuracy ends {low}."


def test_a_claim_without_a_number_has_none_in_the_answer():
    open_claim = replace(OPEN, estimate=None, low=None, high=None, inside=0, n=6, reason="3 levels; a trend needs 4")
    assert made_answer([], [open_claim]) == f"Undecided: “{OPEN.says.rstrip('.')}”."
