"""Grids with seeds, a choice and probes of their own: which runs there are, and on which seeds each claim is judged."""

from dataclasses import replace

import pytest

from lnlab.compile.decisions import (
    Decision,
    assumed_decision,
    decision_from_json,
    decisions_to_json,
)
from lnlab.compile.plan import Plan
from lnlab.compile.reference.explain import explain
from tests.support.refusals import refused
from tests.support.toy_specs import PIECES, toy_spec

TWO = """\
sweep:
  few: {placement: [post, pre], model.layers: [2]}
  many: {placement: [post, pre], model.layers: [4, 8]}
probes: [{kind: gradient_norm, at: end}]
claims:
  - {id: few, says: b, kind: bound, of: {quantity: gradient_norm, grid: few, placement: post}, at_most: 3}
  - {id: many, says: b, kind: bound, of: {quantity: gradient_norm, placement: post, model.layers: 4}, at_most: 3}
"""
BASE = {"optimizer": {"kind": "adam", "lr": 1}, "train": {"steps": 10}}
LINE = "grid_seeds: {many: 11-12}\n"
SPEC = toy_spec(PIECES, TWO, seeds=3, **BASE).replace("seeds: 3\n", f"seeds: 3\n{LINE}")


def runs_of(plan: Plan, *axes: str) -> set[tuple]:
    return {(*(plan.points[run.variant].get(axis) for axis in axes), run.seed) for run in plan.runs}


def alone(grid: str, text: str = TWO, **changes) -> str:
    """The spec of one grid, without claims."""
    line = next(line for line in text.splitlines() if line.strip().startswith(f"{grid}:"))
    probes = text[text.index("probes:") : text.index("claims:")]
    return toy_spec(PIECES, f"sweep:\n{line}\n{probes}", **{**BASE, **changes})


def test_each_grid_runs_on_its_seeds_and_its_runs_are_those_of_a_spec_of_its_own(plan):
    planned = plan(SPEC)
    assert runs_of(planned, "model.layers") == {(2, 1), (2, 2), (2, 3), *((n, s) for n in (4, 8) for s in (11, 12))}
    few, many = plan(alone("few", seeds=3)), plan(alone("many", seeds="11-12"))
    for part in ("runs", "needs"):
        keys = [{entry.key if part == "runs" else entry[3] for entry in getattr(p, part)} for p in (planned, few, many)]
        assert keys[0] == keys[1] | keys[2]
        assert len(getattr(planned, part)) == len(getattr(few, part)) + len(getattr(many, part))


def test_a_claim_is_judged_on_the_seeds_of_the_grid_that_it_reads(plan):
    experiment = plan(SPEC).experiment
    assert {claim: experiment.seeds_of_claim(claim) for claim in ("few", "many")} == {
        "few": (1, 2, 3),
        "many": (11, 12),
    }
    assert [dict(one) for one in plan(SPEC).grid_seeds] == [
        {"grid": "many", "where": {"model.layers": [4, 8]}, "seeds": [11, 12]}
    ]
    assert plan(SPEC.replace(LINE, "")).grid_seeds == ()


def test_claims_have_further_seeds_beside_those_of_their_grid(plan):
    planned = plan(SPEC.replace("claims:", "claim_seeds: {many: 11-14}\nclaims:"))
    assert planned.experiment.seeds_of_claim("many") == (11, 12, 13, 14)
    further = runs_of(planned, "placement", "model.layers") - runs_of(plan(SPEC), "placement", "model.layers")
    assert further == {("post", 4, 13), ("post", 4, 14)}


BOTH = """\
  - {id: both, says: b, kind: bound, of: {quantity: gradient_norm, placement: post}, over: model.layers, at_most: 3}
"""


def test_a_claim_over_grids_is_judged_where_their_seeds_are_the_same_or_its_own(plan):
    stated = plan(SPEC.replace("claims:", "claim_seeds: {both: 1-3}\nclaims:") + BOTH)
    assert ("post", 8, 2) in runs_of(stated, "placement", "model.layers")
    assert ("pre", 8, 2) not in runs_of(stated, "placement", "model.layers")
    same = plan(SPEC.replace("many: 11-12", "many: [3, 1, 2]") + BOTH)
    assert set(same.experiment.seeds_of_claim("both")) == {1, 2, 3}


SHARED = SPEC.replace("model.layers: [4, 8]", "model.layers: [2, 4, 8]")


def test_a_run_of_two_grids_has_one_list_of_seeds(plan):
    plan(SHARED.replace("many: 11-12", "many: 1-3"))
    excepted = SHARED.replace("[2, 4, 8]}", "[2, 4, 8], except: [{model.layers: 2}]}")
    assert runs_of(plan(excepted), "model.layers") == runs_of(plan(SPEC), "model.layers")


def test_a_profile_replaces_them_whole(plan):
    text = SPEC + "profiles: {smoke: {seeds: 2, grid_seeds: {}}, other: {grid_seeds: {few: [7]}}}\n"
    assert {run.seed for run in plan(text, profile="smoke").runs} == {1, 2}
    assert runs_of(plan(text, profile="other"), "model.layers") >= {(2, 7), (4, 3)}
    assert (2, 1) not in runs_of(plan(text, profile="other"), "model.layers")


CHOSEN = """\
sweep:
  few: {placement: [post, pre], model.layers: [2], optimizer.lr: [0.1, 0.2]}
  many: {placement: [post, pre], model.layers: [4], optimizer.lr: [0.3, 0.4, 0.5]}
  still: {placement: [post], model.layers: [1]}
probes: [{kind: gradient_norm, at: end}]
choose:
  - {grid: few, optimizer.lr: best, seeds: [21]}
  - {grid: many, optimizer.lr: best, seeds: 21-22, of: {placement: post}}
claims: []
"""
TUNED = toy_spec(PIECES, CHOSEN, seeds=3, **BASE).replace("seeds: 3\n", f"seeds: 3\n{LINE}")


def decisions_of(planned: Plan, *values: float) -> list[Decision]:
    return [replace(assumed_decision(q), value=v) for q, v in zip(planned.undecided, values, strict=True)]


def test_each_grid_chooses_by_its_own_rule_and_one_without_a_choice_is_judged_as_it_is(plan):
    first = plan(TUNED)
    assert [(dict(q.about), q.seeds, [value for value, _ in q.candidates]) for q in first.undecided] == [
        ({"placement": "post", "model.layers": 2}, (21,), [0.1, 0.2]),
        ({"placement": "pre", "model.layers": 2}, (21,), [0.1, 0.2]),
        ({}, (21, 22), [0.3, 0.4, 0.5]),
    ]
    tuned = {(2, "post", 21), (2, "pre", 21), (4, "post", 21), (4, "post", 22)}
    assert runs_of(first, "model.layers", "placement") == tuned
    second = plan(TUNED, decisions=decisions_of(first, 0.1, 0.2, 0.5))
    assert runs_of(second, "model.layers", "placement", "optimizer.lr", "times") == {
        *((2, "post", 0.1, 1, seed) for seed in (1, 2, 3)),
        *((2, "pre", 0.2, 1, seed) for seed in (1, 2, 3)),
        *((4, placement, 0.5, 1, seed) for placement in ("post", "pre") for seed in (11, 12)),
        *((1, "post", 1, 1, seed) for seed in (1, 2, 3)),
    }
    assert len(second.runs) == first.later == 13


@pytest.mark.parametrize(
    ("grid", "seeds", "choose"),
    [
        ("few", 3, "{optimizer.lr: best, seeds: [21]}"),
        ("many", "11-12", "{optimizer.lr: best, seeds: 21-22, of: {placement: post}}"),
    ],
)
def test_tuning_runs_decisions_and_judged_runs_are_those_of_a_spec_with_the_grid_alone(plan, grid, seeds, choose):
    text = alone(grid, CHOSEN.replace("choose:", "claims:", 1), seeds=seeds) + f"choose: {choose}\n"
    together = plan(TUNED)
    separate = plan(text)
    assert {question.key for question in separate.undecided} < {question.key for question in together.undecided}
    assert {run.key for run in separate.runs} < {run.key for run in together.runs}
    decisions = [replace(assumed_decision(q), value=q.candidates[-1][0]) for q in together.undecided]
    keys = [{run.key for run in plan(one, decisions=decisions).runs} for one in (text, TUNED)]
    assert keys[0] < keys[1]


NAMED = TUNED.replace("sweep:\n", "methods:\n  Chosen: {}\n  Fixed: {optimizer.lr: 0.4}\nsweep:\n")
NAMED = NAMED.replace("few: {", "few: {method: [Chosen], ").replace("many: {", "many: {method: [Chosen], ")
NAMED = NAMED.replace("[post], model.layers: [1]", "[post], method: [Fixed], model.layers: [2]")


def test_a_method_with_a_value_of_its_own_stands_beside_runs_that_choose_theirs(plan):
    first = plan(NAMED)
    second = plan(NAMED, decisions=decisions_of(first, 0.1, 0.2, 0.5))
    rates = runs_of(second, "method", "model.layers", "placement", "optimizer.lr")
    assert {("Fixed", 2, "post", 0.4, 1), ("Chosen", 2, "post", 0.1, 1)} <= rates


def with_choice(choose: str) -> str:
    start, end = TUNED.index("choose:"), TUNED.index("claims:")
    return TUNED[:start] + f"choose: {choose}\n" + TUNED[end:]


ONE = with_choice("{grid: [few, many], optimizer.lr: best, seeds: [21], of: {placement: pre, model.layers: 2}}")


def test_one_choice_may_be_for_some_grids_and_stands_without_a_list(plan):
    assert [dict(question.about) for question in plan(ONE).undecided] == [{}]


def probed(probe: str, sweep: tuple[str, str] = ("", "")) -> str:
    text = SPEC[: SPEC.index("claims:")].replace("{kind: gradient_norm, at: end}", probe)
    return text.replace(*sweep) if sweep[0] else text


def measured(planned: Plan) -> set[tuple]:
    points = {run.key: planned.points[run.variant]["model.layers"] for run in planned.runs}
    return {(points[run], step) for run, step, probe, _ in planned.needs if probe["kind"] == "gradient_norm"}


def test_a_probe_of_a_grid_is_applied_to_its_runs_alone(plan):
    assert measured(plan(probed("{kind: gradient_norm, at: [7], grid: many}"))) == {(4, 7), (8, 7)}
    assert measured(plan(probed("{kind: gradient_norm, at: [7], grid: [many, few]}"))) == {(2, 7), (4, 7), (8, 7)}
    several = probed("{kind: gradient_norm, at: [7], grid: many}, {kind: gradient_norm, at: [0, 3], grid: few}")
    assert measured(plan(several)) == {(4, 7), (8, 7), (2, 0), (2, 3)}


SHORTER = ("few: {placement", "few: {train.steps: [4], placement")


def test_the_steps_of_a_probe_are_those_of_the_runs_of_its_grid(plan):
    assert measured(plan(probed("{kind: gradient_norm, at: [7], grid: many}", SHORTER))) == {(4, 7), (8, 7)}


def test_a_plan_in_words_has_each_list_of_seeds(plan):
    assert "14 runs: 2 variants x 3 seeds (1-3), 4 variants x 2 seeds (11-12)" in explain(plan(SPEC))


def test_a_decision_says_for_which_grids_it_was_made(plan):
    decisions = plan(TUNED, decisions=decisions_of(plan(TUNED), 0.1, 0.2, 0.5)).decisions
    assert [(decision.grid, dict(decision.where)) for decision in decisions] == [
        *[(("few",), {"model.layers": 2})] * 2,
        (("many",), {"model.layers": 4}),
    ]
    assert [decision_from_json(entry) for entry in decisions_to_json(decisions)] == list(decisions)
    everywhere = with_choice("{optimizer.lr: best, seeds: [21]}").replace(
        "still: {placement: [post], model.layers: [1]}",
        "still: {placement: [post], model.layers: [1], optimizer.lr: [1]}",
    )
    (one, *_) = plan(everywhere, decisions=decisions_of(plan(everywhere), *[0.1] * 2, *[0.3] * 2, 1)).decisions
    assert not {"grid", "where"} & decisions_to_json([one])[0].keys()


def test_a_list_that_is_the_value_of_an_axis_is_one_condition(plan):
    text = SPEC.replace("few: {placement", "few: {train.evaluate: [[5, 10]], placement")
    text = text.replace("many: {placement", "many: {train.evaluate: [{every: 5}], placement")
    assert plan(text).experiment.seeds_of_claim("few") == (1, 2, 3)
    conditions = plan(text.replace("grid_seeds: {many", "grid_seeds: {few: 3, many")).grid_seeds[0]["where"]
    assert conditions["train.evaluate"] == [[5, 10]]


def test_an_axis_that_holds_the_chosen_parameter_tells_no_grid(plan):
    """What is judged has another value there than the candidates of which the conditions are made."""
    text = TUNED.replace("few: {placement", "few: {optimizer: [{kind: adam, lr: 1}], placement")
    text = text.replace("many: {placement", "many: {optimizer: [{kind: adam, lr: 1}], placement")
    text = text.replace("claims: []", "claims:\n  - {id: a, says: b, kind: bound, of: {quantity: gradient_norm, "
                        "grid: many, placement: post}, at_most: 3}")  # fmt: skip
    assert plan(text, decisions=decisions_of(plan(text), 0.1, 0.2, 0.5)).experiment.seeds_of_claim("a") == (11, 12)


PART = SPEC.replace("model.layers: 4}", "grid: many, model.layers: 4}")
PART += "profiles:\n  part: {grid_seeds: {}, sweep: {few: {placement: [post, pre], model.layers: [2]}}}\n"


def test_a_grid_that_a_profile_leaves_out_selects_none_of_its_runs(plan):
    """A profile may be about one part of the question, and its claims about others find no runs."""
    part = plan(PART, profile="part")
    assert runs_of(part, "model.layers") == {(2, 1), (2, 2), (2, 3)}
    assert [claim.id for claim in part.experiment.claims] == ["few", "many"]


REQUIRED = BOTH.replace("placement: post}, over: model.layers", "placement: post, model.layers: 2}").replace(
    "at_most: 3}",
    "at_most: 3, requires: {kind: bound, of: {quantity: gradient_norm, placement: pre, model.layers: 8}, at_most: 9}}",
)
CROSSED = "  few: {placement: [post], model.layers: [2, 8]}\n  many: {placement: [post, pre], model.layers: [2, 4], "
CROSSED += "except: [{placement: post, model.layers: 2}]}\n"
TWICE = with_choice("[{grid: few, RULE}, {grid: many, RULE}]").replace("[0.3, 0.4, 0.5]", "[0.1, 0.2]")
CHOSEN_CROSSED = (
    TUNED.replace("few: {placement: [post, pre], ", "few: {placement: [post], ")
    .replace("model.layers: [4]", "model.layers: [2, 4], except: [{placement: post, model.layers: 2}]")
    .replace(LINE, "")
    .replace("of: {placement: post}}", "}")
)
OFTEN = "train.evaluate: [{every: 5}]"
REFUSED = {
    "a claim over grids of other seeds": SPEC + BOTH,
    "what a claim requires": SPEC + REQUIRED,
    **{f"seeds {line}": SPEC.replace("{many: 11-12}", line) for line in ("{mny: 11-12}", "{many: 0}", "[many]")},
    "grids without names": toy_spec(PIECES, "sweep: [{placement: [post, pre]}]\n", grid_seeds={"deep": 3}, **BASE),
    "a run of two grids": SHARED,
    "grids that nothing tells apart": SPEC[: SPEC.index("  few:")] + CROSSED + SPEC[SPEC.index("probes:") :],
    "margins set on a seed": SPEC.replace("3}\n  - {id: many", "3, calibration: {seeds: [12]}}\n  - {id: many"),
    **{
        f"a choice: {new}": TUNED.replace(old, new)
        for old, new in (
            ("grid: many", "grid: mny"),
            ("grid: many", "grid: [many, few]"),
            ("grid: many, ", ""),
            ("grid: many", "grid: [still, many]"),
            ("best, seeds: 21-22", "bets, seeds: 21-22"),
            *(("seeds: 21-22", f"seeds: {seed}") for seed in (3, 12, 0)),
            ("still: {placement: [post], model.layers: [1]}", "still: {placement: [post]}"),
            ("model.layers: [4]", "model.layers: [2]"),
            ("model.layers: [1]", f"model.layers: [2], {OFTEN}"),
        )
    },
    "one choice of some grids": ONE.replace("seeds: [21]", "seeds: 0"),
    "two choices that ask the same": TWICE.replace("RULE", "optimizer.lr: best, seeds: [21], of: {placement: post}"),
    "a choice of grids that nothing tells apart": CHOSEN_CROSSED,
    "a method that is another": NAMED.replace("Fixed: {optimizer.lr: 0.4}", "Fixed: {optimizer.lr: 0.1}"),
    "a probe beyond the end of its grid": probed("{kind: gradient_norm, at: [7], grid: few}", SHORTER),
    "a probe of no grid": probed("{kind: gradient_norm, at: end, grid: fw}"),
    "a probe of one that is no grid": probed("{kind: gradient_norm, at: end, grid: [few, fw]}"),
    "grids that differ in evaluations": SPEC.replace("model.layers: [2]}", f"model.layers: [4], {OFTEN}}}"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_wrong_with_grids_is_told_where_it_stands(plan, what, golden):
    golden(refused(plan, REFUSED[what]))


@pytest.mark.parametrize("change", [("[2]}}", "[2, 4]}}"), ("grid: many", "grid: mny")])
def test_what_is_wrong_with_a_grid_of_a_profile_is_told(plan, change, golden):
    golden(refused(plan, PART.replace(*change), profile="part"))
