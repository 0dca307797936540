"""A verdict judged again by the number of each seed that it holds is what its rows would give at that look."""

from dataclasses import replace

import pytest

from lnlab.claims.judging import judge_claim
from lnlab.claims.kept_numbers import judge_kept_numbers

OF = {"quantity": "q", "placement": "a"}
RATIO = {"kind": "ratio", "of": OF, "to": {"placement": "b"}, "at_least": 1.1}
BOUND = {"kind": "bound", "of": OF, "at_most": 3.0}
DIFFERENCE = {"kind": "difference", "of": OF, "to": {"placement": "b"}, "at_least": 0.5}
FIELDS = (
    "verdict",
    "detail",
    "estimate",
    "low",
    "high",
    "region_low",
    "region_high",
    "n",
    "inside",
    "seeds",
    "law_word",
)
FIELDS += ("look", "level", "bound", "margin", "about", "measure", "reason")


@pytest.mark.parametrize("look", [1, 2, 3])
@pytest.mark.parametrize(
    "claim",
    [
        RATIO,
        {**RATIO, "margin": "ours", "zone": 1.05, "law": 1.5},
        {**RATIO, "at_least": 9.0, "margin": "ours"},
        {key: value for key, value in RATIO.items() if key != "at_least"} | {"equals": 1.9},
        {key: value for key, value in RATIO.items() if key != "at_least"} | {"equals": 2.0, "factor": 1.05},
        BOUND,
        {**BOUND, "looks": "open", "law": 2.0},
        {**BOUND, "scale": "linear", "margin": "ours", "no_effect": 2.5},
        {**BOUND, "about": "median"},
        DIFFERENCE,
        {**DIFFERENCE, "margin": "ours", "zone": 0.1, "law": 1.0},
        {**DIFFERENCE, "of": RATIO["to"], "to": OF, "margin": "ours"},
    ],
)
def test_the_numbers_of_a_verdict_give_what_its_rows_give(experiment, claim, look):
    results = experiment(
        {"a": [2.0, 2.2, 1.9, 2.4, 2.1, 2.0, 2.3, 1.8, 2.1, 2.2], "b": [1.0, 1.2, 1.1] * 3 + [1.0]}, step=3
    )
    claim = {"id": "it", "says": "So it is.", **claim}
    unlike = {key: value for key, value in claim.items() if key not in ("margin", "zone", "law", "looks", "no_effect")}
    last = judge_claim(unlike, results)
    again, expected = judge_kept_numbers(claim, last, 10, look), judge_claim(claim, results, look=look)
    reason = expected.reason.partition("; tightness")[0]
    assert {name: getattr(again, name) for name in FIELDS} == {
        name: getattr(replace(expected, reason=reason), name) for name in FIELDS
    }


@pytest.mark.parametrize("change", [{"over": "layer"}, {"each": ["layer"]}, {"kind": "trend"}, {"probability": 0.9}])
def test_a_claim_with_several_numbers_a_seed_cannot_be_judged_so(experiment, change):
    last = judge_claim({"id": "it", "says": "", **BOUND}, experiment({"a": [2.0] * 5}))
    assert judge_kept_numbers({"id": "it", "says": "", **BOUND, **change}, last, 5, 1) is None


def test_nor_can_one_whose_seeds_have_not_all_a_number(experiment):
    last = judge_claim({"id": "it", "says": "", **BOUND}, experiment({"a": [2.0, 2.1, 2.2, 2.0, 2.3]}))
    assert judge_kept_numbers({"id": "it", "says": "", **BOUND}, last, 6, 1) is None


@pytest.mark.parametrize("step", [0, 3])
@pytest.mark.parametrize("n", [3, 4, 5])
@pytest.mark.parametrize("claim", [RATIO, {**RATIO, "at_least": 2.05}, {**RATIO, "at_least": 9.0}, BOUND])
def test_few_seeds_decide_at_init_and_not_in_training_as_their_rows_do(experiment, claim, n, step):
    results = experiment({"a": [2.0, 2.2, 1.9, 2.4, 2.1][:n], "b": [1.0, 1.2, 1.1, 1.0, 1.2][:n]}, step=step)
    claim = {"id": "it", "says": "So it is.", **claim}
    last = judge_claim(claim, results)
    again = judge_kept_numbers({**claim, "law": 1.5}, last, n, 1)
    expected = judge_claim({**claim, "law": 1.5}, results)
    assert (again.verdict, again.low, again.law_word) == (expected.verdict, expected.low, expected.law_word)
    assert ("by rule" in again.reason) == (step > 0 and n < 5)


def test_few_seeds_of_runs_trained_outside_decide_nothing(experiment):
    claim = {"id": "it", "says": "", **BOUND}
    last = judge_claim(claim, experiment({"a": [2.0, 2.1, 2.2]}))
    assert last.verdict == "supported"
    assert judge_kept_numbers(claim, last, 3, 1).verdict == "supported"
    assert judge_kept_numbers(claim, last, 3, 1, elsewhere=True).verdict == "undecided"
