"""Tuning runs first, judged runs once a value is chosen: which they are, and what is wrong with asking for them."""

from dataclasses import replace

import pytest

from lnlab.compile.decisions import assumed_decision
from lnlab.compile.reference.explain import explain
from lnlab.errors import SpecError
from tests.support.refusals import refused
from tests.support.toy_specs import PIECES, toy_spec

TRAINED = toy_spec(
    PIECES,
    optimizer={"kind": "adam", "lr": 1},
    schedule={"kind": "constant", "warmup_steps": 0},
    train={"steps": 10},
    seeds=3,
    probes=[{"kind": "gradient_norm", "at": "end"}],
)
SWEEP = "sweep: [{placement: [post, pre], schedule.warmup_steps: [0, 5], optimizer.lr: [0.1, 0.2, 0.4]}]\n"
EACH = "choose: {optimizer.lr: best, seeds: 11-12}\n"
ONE = (
    "choose: {optimizer.lr: failing, seeds: 11-12, of: {placement: post, schedule.warmup_steps: 0}, times: [0.5, 1]}\n"
)
CLAIM = "claims: [{id: a, says: b, kind: bound, of: {quantity: gradient_norm, tensor: w2, OF}, at_most: 3}]\n"


def decisions_of(plan, *values):
    """The plan's questions answered with these values, in order."""
    return [replace(assumed_decision(q), value=value) for q, value in zip(plan.undecided, values, strict=True)]


def runs_of(plan, *axes):
    return [(*(plan.points[run.variant].get(axis) for axis in axes), run.seed) for run in plan.runs]


def test_the_first_round_has_the_tuning_runs_and_nothing_else(plan):
    found = plan(TRAINED + SWEEP + ONE)
    assert runs_of(found, "placement", "schedule.warmup_steps", "optimizer.lr") == [
        ("post", 0, lr, seed) for lr in (0.1, 0.2, 0.4) for seed in (11, 12)
    ]
    assert all(not trajectory.measurements for trajectory in found.trajectories)
    assert (found.needs, found.claims, found.decisions, found.later) == ((), (), (), 4 * 2 * 3)
    (question,) = found.undecided
    assert (question.about, question.rule, question.seeds) == ({}, {"kind": "failing", "below": 0.25}, (11, 12))
    assert [value for value, _ in question.candidates] == [0.1, 0.2, 0.4]
    assert [variant for _, variant in question.candidates] == list(found.settings)


def test_the_second_has_the_judged_seeds_at_the_multiples_of_what_was_chosen(plan):
    first = plan(TRAINED + SWEEP + ONE)
    found = plan(TRAINED + SWEEP + ONE, decisions=decisions_of(first, 0.4))
    assert found.undecided == ()
    assert runs_of(found, "placement", "schedule.warmup_steps", "optimizer.lr", "times") == [
        (placement, warmup, 0.4 * times, times, seed)
        for placement in ("post", "pre")
        for warmup in (0, 5)
        for times in (0.5, 1)
        for seed in (1, 2, 3)
    ]
    assert len(found.runs) == first.later
    assert found.axes == ("placement", "schedule.warmup_steps", "optimizer.lr", "times")
    assert {step for _, step, _, _ in found.needs} == {10}


def test_without_of_each_combination_of_the_other_axes_chooses_for_itself(plan):
    first = plan(TRAINED + SWEEP + EACH)
    assert [question.about for question in first.undecided] == [
        {"placement": placement, "schedule.warmup_steps": warmup} for placement in ("post", "pre") for warmup in (0, 5)
    ]
    found = plan(TRAINED + SWEEP + EACH, decisions=decisions_of(first, 0.1, 0.2, 0.4, 0.2))
    assert runs_of(found, "placement", "schedule.warmup_steps", "optimizer.lr")[::3] == [
        ("post", 0, 0.1, 1),
        ("post", 5, 0.2, 1),
        ("pre", 0, 0.4, 1),
        ("pre", 5, 0.2, 1),
    ]


def test_what_is_decided_is_part_of_the_plan_and_of_no_key(plan):
    text = TRAINED + SWEEP + ONE
    first = plan(text)
    (decision,) = decisions_of(first, 0.4)
    found, other = (plan(text, decisions=[d]) for d in (decision, replace(decision, rows="other evidence")))
    assert len({first.digest, found.digest, other.digest}) == 3
    assert [run.key for run in found.runs] == [run.key for run in other.runs]
    plain = plan(TRAINED + SWEEP)
    same = {run.key: run for run in plain.runs}
    chosen = [run for run in found.runs if found.points[run.variant]["times"] == 1]
    assert {run.key for run in chosen} <= same.keys()
    tuning = plan(TRAINED + SWEEP, overrides=("seeds=11-12",))
    assert {run.key for run in first.runs} <= {run.key for run in tuning.runs}


def test_only_the_last_round_is_found_again_by_its_question(plan):
    text = TRAINED + SWEEP + ONE
    first = plan(text)
    last = plan(text, decisions=decisions_of(first, 0.4))
    assert first.quick != last.quick
    assert last.quick == plan(text, decisions=decisions_of(first, 0.1)).quick


def test_a_decision_on_another_question_decides_nothing(plan):
    first = plan(TRAINED + SWEEP + ONE)
    decisions = decisions_of(first, 0.4)
    other = plan(TRAINED + SWEEP + ONE.replace("11-12", "11-13"), decisions=decisions)
    assert len(other.undecided) == 1
    both = plan(TRAINED + SWEEP + EACH)
    rest = plan(TRAINED + SWEEP + EACH, decisions=decisions_of(both, 0.1, 0.1, 0.1, 0.1)[1:])
    assert [question.about for question in rest.undecided] == [both.undecided[0].about]


def test_each_grid_has_candidates_of_its_own(plan):
    sweep = "sweep: [{placement: [post], optimizer.lr: [0.1, 0.2]}, {placement: [pre], optimizer.lr: [1, 2, 4]}]\n"
    first = plan(TRAINED + sweep + EACH)
    assert [[value for value, _ in q.candidates] for q in first.undecided] == [[0.1, 0.2], [1.0, 2.0, 4.0]]
    shared = "choose: {optimizer.lr: best, seeds: [11], of: {placement: pre}}\n"
    found = plan(TRAINED + sweep + shared, decisions=decisions_of(plan(TRAINED + sweep + shared), 4.0))
    assert {(p, lr) for p, lr, _ in runs_of(found, "placement", "optimizer.lr")} == {("post", 4.0), ("pre", 4.0)}


def test_methods_are_arms(plan):
    methods = "methods: {A: {placement: post}, B: {placement: pre, norm: rms}}\n"
    sweep = "sweep: [{method: [A, B], optimizer.lr: [0.1, 0.2]}]\n"
    claim = CLAIM.replace("OF", "method: B, times: 1")
    first = plan(TRAINED + methods + sweep + EACH + claim)
    assert [question.about for question in first.undecided] == [{"method": "A"}, {"method": "B"}]
    found = plan(TRAINED + methods + sweep + EACH + claim, decisions=decisions_of(first, 0.1, 0.2))
    assert runs_of(found, "method", "optimizer.lr", "times")[::3] == [("A", 0.1, 1, 1), ("B", 0.2, 1, 1)]


def test_a_short_form_is_chosen_in_every_stack(plan):
    sweep = "sweep: [{placement.alpha: [1, 2]}]\n"
    text = TRAINED.replace("post", "{kind: deep, alpha: 1}") + sweep
    text += "choose: {placement.alpha: failing, seeds: [11], times: [1, 3]}\n"
    found = plan(text, decisions=decisions_of(plan(text), 2.0))
    (_, last) = found.settings.values()
    assert [last[stack]["placement"]["alpha"] for stack in ("encoder", "decoder")] == [6.0, 6.0]


def test_words_can_be_chosen_too(plan):
    text = TRAINED + "sweep: [{placement: [post, pre]}]\nchoose: {placement: best, seeds: [11]}\n"
    first = plan(text)
    assert [value["kind"] for value, _ in first.undecided[0].candidates] == ["post", "pre"]
    found = plan(text, decisions=decisions_of(first, first.undecided[0].candidates[1][0]))
    assert {placement for placement, _ in runs_of(found, "placement")} == {"pre"}


def test_an_axis_above_the_chosen_path_is_told_by_its_kind(plan):
    sweep = "sweep: [{optimizer: [{kind: adam, lr: 1}], optimizer.lr: [0.1, 0.2]}]\n"
    assert [question.about for question in plan(TRAINED + sweep + EACH).undecided] == [{"optimizer": "adam"}]


def test_profiles_and_arguments_set_and_remove_what_is_chosen(plan, golden):
    text = TRAINED + SWEEP + EACH + "profiles: {plain: {choose: null, optimizer.lr: 0.2}, one: {optimizer.lr: 0.2}}\n"
    assert plan(text, profile="plain").undecided == ()
    assert len(plan(text, profile="plain").runs) == 4 * 3
    assert [len(question.candidates) for question in plan(text, profile="one").undecided] == [1] * 4
    of = "{placement: pre, schedule.warmup_steps: 5}"
    one = "choose={optimizer.lr: {kind: failing, below: 0.5}, seeds: [20], of: " + of + "}"
    (question,) = plan(text, overrides=(one,)).undecided
    assert (question.rule["below"], question.seeds) == (0.5, (20,))
    with golden.raises(SpecError):
        plan(text, overrides=("choose.seeds=[20]",))


@pytest.mark.parametrize(
    "choose",
    [
        "{seeds: [11]}",
        "{optimizer.lr: best}",
        "best",
        "{optimizer.lr: best, seeds: [11], of: {placement: psot}}",
        "{optimizer.lr: best, seeds: [11], of: {modl: 1}}",
        "{optimizer.lr: best, seeds: [11], of: {placement: post}}",
        "{placement: failing, seeds: [11]}",
        "{placement: best, seeds: [11], times: [2]}",
        "{schedule.warmup_steps: best, seeds: [11], times: [0.5]}",
        "{optimizer.lr: {kind: failing, below: 1}, seeds: [11]}",
    ],
)
def test_what_cannot_be_chosen_so(plan, choose, golden):
    golden(refused(plan, TRAINED + SWEEP + f"choose: {choose}\n"))


def test_nothing_can_be_chosen_where_nothing_is_trained(plan, golden):
    text = TRAINED.replace("steps: 10", "steps: 0").replace("at: end", "at: init")
    (found,) = refused(plan, text + SWEEP + EACH)
    golden(found)


def test_a_profile_that_is_not_chosen_is_checked_too(plan, golden):
    text = TRAINED + SWEEP + "profiles: {p: {choose: {optimizer.lr: bets, seeds: [3]}}}\n"
    golden([each.partition(";")[0] for each in refused(plan, text)])


PINNED = "placement: post, schedule.warmup_steps: 0"


def test_a_sound_claim_is_taken_before_and_after_and_where_nothing_is_chosen(plan):
    text = TRAINED + SWEEP + ONE + CLAIM.replace("OF", f"{PINNED}, times: 1")
    first = plan(text)
    assert len(plan(text, decisions=decisions_of(first, 0.2)).claims) == 1
    assert len(plan(text, overrides=("choose=null", "optimizer.lr=0.1")).claims) == 1


def test_runs_of_both_rounds_are_counted_before_anything_is_done(plan):
    (found,) = refused(plan, TRAINED.replace("seeds: 3", "seeds: 1-10") + SWEEP + EACH.replace("11-12", "11-500010"))
    assert "6,000,040 runs; at most 150,000" in found


def test_a_plan_tells_what_was_chosen(plan, golden):
    first = plan(TRAINED + SWEEP + EACH)
    decisions = [replace(d, reason="the best") for d in decisions_of(first, 0.1, 0.4, 0.1, 0.2)]
    golden(explain(plan(TRAINED + SWEEP + EACH, decisions=decisions))[:2])
