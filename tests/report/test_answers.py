"""Verdicts in words and as dots on a line."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lnlab.report.page.claim_list import estimate_with_noun
from lnlab.report.page.verdict_strip import EDGE, WIDTH, verdict_strip
from lnlab.report.words.verdict_words import common_scope, multiplicity_sentence, statistic_text, verdict_count_sentence
from tests.report.conftest import verdict

BASE = replace(
    verdict("a", {1: 7.1, 2: 7.5, 3: 7.9}, low=2.5, says="It grows.", primary=True, reason="", scope=""),
    estimate=7.5,
    low=7.1,
    high=7.9,
    measure="ratio",
    quantity="gradient_norm",
)


def of(*words, primary=True):
    return [replace(BASE, claim=str(n), verdict=w, primary=primary) for n, w in enumerate(words)]


def test_the_answer_counts_every_claim(golden):
    given = of("supported", "undecided", "supported", "contradicted")
    said = "2 of 4 primary claims supported, 1 contradicted, 1 undecided"
    assert verdict_count_sentence(given) == f"{said.replace(' primary', '')}."
    others = of("contradicted", "supported", primary=False)
    assert verdict_count_sentence([*given, *others]) == f"{said}; of all 6: 3 supported, 2 contradicted, 1 undecided."
    assert verdict_count_sentence(of("supported", "supported")) == "2 of 2 claims supported."
    assert verdict_count_sentence(of("undecided", primary=False)) == "1 of 1 claim undecided."
    assert verdict_count_sentence([*of("ill-posed"), *of("not testable here", primary=False)]) == (
        "1 of 1 primary claim ill-posed; of all 2: 1 not testable here, 1 ill-posed."
    )
    golden(verdict_count_sentence([]))


def test_a_row_states_estimate_interval_region_and_count():
    assert statistic_text(BASE) == "last/first 7.5 [7.1, 7.9]; accepted: at least 2.5; 3 of 3 seeds within"
    blank = replace(BASE, estimate=None, low=None, high=None, n=0, inside=0, seeds={})
    assert statistic_text(blank) == "last/first –; accepted: at least 2.5"


def test_the_common_setting_is_that_of_most_claims_and_not_of_one_that_no_seed_could_judge():
    wide = replace(BASE, scope="d_model 512")
    not_run = replace(BASE, scope="0 seeds", n=0)
    assert common_scope([replace(BASE, scope="d_model 64"), wide, wide, *[not_run] * 3]) == "d_model 512"
    assert common_scope([replace(BASE, scope="d_model 64"), wide]) == ""
    assert common_scope([wide]) == "d_model 512"
    assert common_scope([]) == ""


def test_a_setting_names_a_step_only_if_that_of_every_claim():
    first, last = (replace(BASE, scope=f"d_model 64, {moment}, 5 seeds") for moment in ("at init", "after 9 updates"))
    assert common_scope([first, replace(last, scope="d_model 512")]) == ""
    assert common_scope([first, first]) == first.scope
    assert common_scope([first, last]) == "d_model 64, 5 seeds"
    over = replace(BASE, scope="d_model 64, after 0 to 9 updates; two layers have no partner")
    assert common_scope([over, over, last]) == "d_model 64; two layers have no partner"


def test_the_page_says_how_often_its_verdicts_are_wrong(golden):
    sentence = multiplicity_sentence(of("supported", "undecided"))
    golden(sentence)
    golden(sentence)


@given(
    st.dictionaries(st.integers(1, 20), st.floats(allow_nan=True, allow_infinity=True), max_size=6),
    st.one_of(st.none(), st.floats(-1e300, 1e300)),
    st.one_of(st.none(), st.floats(-1e300, 1e300)),
)
def test_every_dot_lies_on_the_line(seeds, low, high):
    ends = (low, high) if low is None or high is None or low <= high else (high, low)
    made = verdict_strip(replace(BASE, seeds=seeds, region_low=ends[0], region_high=ends[1]))
    assert all(EDGE <= place <= WIDTH - EDGE for place in made.seeds)
    assert len(made.seeds) == sum(map(math.isfinite, seeds.values()))
    assert 0 <= made.region[0] <= made.region[1] <= WIDTH


def test_numbers_equal_up_to_rounding_lie_on_one_place_in_the_middle():
    seeds = {1: 1.0, 2: 1.0 + 2e-6, 3: 1.0 - 1e-7}
    ends = {"estimate": 1.0, "low": None, "high": None, "region_low": 1.0, "region_high": 1.0}
    made = verdict_strip(replace(BASE, seeds=seeds, **ends))
    assert {*made.seeds, made.estimate, *made.region, made.edges[0][0]} == {100.0}


@pytest.mark.parametrize(
    ("ends", "labels"), [((-0.1, 0.1), ["−0.1 to 0.1"]), ((0.1, 0.1), ["0.1"]), ((-0.9, 0.1), ["−0.9", "0.1"])]
)
def test_labels_of_near_edges_are_one(ends, labels):
    numbers = {"estimate": None, "low": None, "high": None, "region_low": ends[0], "region_high": ends[1]}
    strip = verdict_strip(replace(BASE, seeds={1: -2.0, 2: 0.2}, **numbers))
    assert [label for _, label in strip.labels] == labels


def test_a_verdict_without_numbers_has_no_dots():
    assert verdict_strip(replace(BASE, estimate=None, low=None, high=None, seeds={1: math.nan})) is None


def test_positive_numbers_lie_on_a_logarithmic_line():
    made = verdict_strip(
        replace(BASE, seeds={1: 1.0, 2: 10.0, 3: 100.0}, region_low=None, estimate=10.0, low=1.0, high=100.0)
    )
    assert made.seeds == (EDGE, WIDTH / 2, WIDTH - EDGE)
    assert "logarithmic" in made.alt


def test_an_estimate_has_its_noun():
    numbers = replace(BASE, estimate=6.8, low=6.1, high=7.5, n=6, inside=0)
    found = {
        m: estimate_with_noun(replace(numbers, measure=m)) for m in ("ratio", "exponent", "steps", "value", "share")
    }
    assert {measure: text.replace("\u00a0", " ") for measure, text in found.items()} == {
        "ratio": "× 6.8 [6.1, 7.5]",
        "exponent": "exponent 6.8 [6.1, 7.5]",
        "steps": "6.8 [6.1, 7.5] steps",
        "value": "6.8 [6.1, 7.5]",
        "share": "0 of 6 seeds",
    }
    assert estimate_with_noun(replace(numbers, measure="ratio", estimate=None)) == "–"
