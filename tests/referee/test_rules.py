"""Each rule on two made-up studies: one in which it speaks, and one in which it must be silent."""

import pytest

from lnlab.referee.review import RULES, SHOWN, open_lines
from lnlab.referee.rules.effects import skewness
from lnlab.referee.rules.tuning import expected_best
from lnlab.referee.study import Neighbour

PAIR = ("A", "B")


def both(made, **point):
    return [made.run(method, seed, 3.0, **point) for method in PAIR for seed in range(1, 7)]


def test_the_best_value_at_the_end_of_its_grid_could_change_the_word(made, golden):
    # B was still gaining 1.5 nats by the last step: one more, and A would no longer end lower
    end = [made.tuning("A"), made.tuning("B", (6.0, 4.5, 3.0))]
    runs = [made.run("A", seed) for seed in range(1, 7)] + [made.run("B", seed, lr=0.2) for seed in range(1, 7)]
    (line,) = made.lines("R1", [made.claim()], runs, [made.verdict()], tunings=end)
    golden(line.says)
    assert (line.claims, line.grave, line.is_open) == (("it",), True, True)


def test_an_end_of_the_grid_that_gains_little_leaves_the_word(made):
    runs = [made.run("A", seed) for seed in range(1, 7)] + [made.run("B", seed, lr=0.2) for seed in range(1, 7)]
    end = [made.tuning("B", (6.0, 3.1, 3.0))]
    (line,) = made.lines("R1", [made.claim()], runs, [made.verdict()], tunings=end)
    assert "would not change" in line.says
    assert not line.is_open


def test_a_grid_whose_other_values_failed_may_go_on(made, golden):
    runs = [made.run("A", seed) for seed in range(1, 7)] + [made.run("B", seed, lr=0.05) for seed in range(1, 7)]
    alone = [made.tuning("B", (4.0, 19.0, None))]
    (line,) = made.lines("R1", [made.claim()], runs, [made.verdict()], tunings=alone)
    golden(line.says)


def test_a_best_value_inside_its_grid_says_nothing(made):
    assert not made.lines("R1", [made.claim()], both(made), [made.verdict()], tunings=[made.tuning("B")])


def test_an_accuracy_says_nothing_of_the_end_of_a_grid_of_losses(made):
    of = {"of": {"quantity": "learned_fraction"}}
    end = [made.tuning("B", (6.0, 4.5, 3.0))]
    runs = [made.run("B", seed, lr=0.2) for seed in range(1, 7)]
    assert not made.lines("R1", [made.claim(**of)], runs, [made.verdict(quantity="learned_fraction")], tunings=end)


def rates(made, losses, **claim):
    """A claim about the largest rate that A bears, whose losses at 0.1 and 0.2 are given."""
    runs = [made.run("A", seed, loss, lr=lr) for lr, loss in losses.items() for seed in range(1, 7)]
    of = {"quantity": "max_half_lr", "method": "A", "reference": "best"}
    asked = {"kind": "bound", "of": of, "over": None, "order": None, "at_least": 0.1, "scale": "linear"}
    return made.claim(**{**asked, **claim}), runs


def test_seeds_that_bear_the_largest_rate_may_bear_more(made, golden):
    claim, runs = rates(made, {0.1: 3.0, 0.2: 3.0})
    found = made.verdict(kind="bound", quantity="max_half_lr", verdict="contradicted", region_low=0.3, region_high=None)
    (line,) = made.lines("R1c", [claim], runs, [found])
    golden(line.says)


def test_seeds_whose_rate_lies_inside_the_grid_are_not_censored(made):
    claim, runs = rates(made, {0.05: 3.0, 0.1: 3.0, 0.2: 8.0})
    assert not made.lines("R1c", [claim], runs, [made.verdict(kind="bound", quantity="max_half_lr")])


def test_a_larger_rate_that_makes_the_word_stronger_is_told_and_asks_for_nothing(made, golden):
    claim, runs = rates(made, {0.1: 3.0, 0.2: 3.0})
    found = made.verdict(kind="bound", quantity="max_half_lr", region_low=0.1, region_high=None)
    (line,) = made.lines("R1c", [claim], runs, [found])
    golden(line.says)
    assert not line.is_open


@pytest.mark.parametrize("plan", [True, False])
def test_unequal_searches(made, plan, golden):
    unequal = [made.tuning("A", (4.0, 3.0, 3.5)), made.tuning("B", (4.0, 3.0, 3.5, 5.0))]
    verdicts = [] if plan else [made.verdict()]
    (line,) = made.lines("R2", [made.claim()], both(made), verdicts, tunings=unequal, plan=plan)
    golden(line.says)


def test_equal_searches_of_other_values_are_fair(made):
    equal = [made.tuning("A", (4.0, 3.0, 3.5)), made.tuning("B", (3.0, 3.2, 5.0), value=0.1)]
    assert not made.lines("R2", [made.claim()], both(made), [made.verdict()], tunings=equal)


def best_of(made, rates_of_b):
    runs = [made.run("A", seed, 3.0, lr=lr) for lr in (0.1, 0.2, 0.4) for seed in (1, 2)]
    runs += [made.run("B", seed, 3.0, lr=lr) for lr in rates_of_b for seed in (1, 2)]
    return made.claim(of={"quantity": "best_lr_nll"}), runs


def test_the_best_of_unequal_numbers_is_unfair(made, golden):
    claim, runs = best_of(made, (0.1, 0.2))
    (line,) = made.lines("R7", [claim], runs, plan=True)
    golden(line.says)


def test_the_best_of_equal_numbers_is_fair(made):
    claim, runs = best_of(made, (0.01, 0.1, 0.2))
    assert not made.lines("R7", [claim], runs, plan=True)


def test_one_rate_for_all_seeds_is_known_to_a_step(made, golden):
    claim, runs = rates(made, {0.05: 3.0, 0.1: 3.0, 0.2: 8.0})
    same = made.verdict(kind="bound", quantity="max_half_lr", seeds=dict.fromkeys(range(1, 7), 0.1))
    (line,) = made.lines("R12", [claim], runs, [same])
    golden(line.says)
    apart = made.verdict(kind="bound", quantity="max_half_lr", seeds={s: 0.1 if s % 2 else 0.05 for s in range(1, 7)})
    assert not made.lines("R12", [claim], runs, [apart])


@pytest.mark.parametrize(("seeds", "fires"), [((101,), True), ((101, 102), False)])
def test_tuning_on_one_seed(made, seeds, fires):
    claims = [made.claim(), made.claim("again")]
    found = made.lines("R15", claims, both(made), plan=True, tunings=[made.tuning("A", seeds=seeds)])
    assert [line.claims for line in found] == ([("it", "again")] if fires else [])


def test_a_rate_that_was_chosen_on_another_side_is_borrowed(made, golden):
    borrowed = [made.tuning("A", of={"method": "A"}), made.tuning("B", of={"method": "A"})]
    (line,) = made.lines("R20", [made.claim()], both(made), [made.verdict()], tunings=borrowed)
    golden(line.says)
    assert line.grave


def test_a_rate_at_which_another_side_fails_is_told_of_what_is_not_supported(made, golden):
    failing = [made.tuning("B", rule="failing", of={"method": "A"})]
    against = made.verdict(verdict="smaller")
    (line,) = made.lines("R20", [made.claim()], both(made), [against], tunings=failing)
    golden(line.says)
    assert not made.lines("R20", [made.claim()], both(made), [made.verdict()], tunings=failing)


def test_a_rate_of_ones_own_is_not_borrowed(made):
    own = [made.tuning("A"), made.tuning("B")]
    assert not made.lines("R20", [made.claim()], both(made), [made.verdict()], tunings=own)


@pytest.mark.parametrize(("seeds", "fires"), [((3, 101), True), ((101, 102), False)])
def test_tuning_seeds_are_not_judged(made, seeds, fires):
    found = made.lines("R28", [made.claim()], both(made), [made.verdict()], tunings=[made.tuning("A", seeds=seeds)])
    assert [line.says for line in found] == (["It is tuned and judged on seed 3."] if fires else [])


def test_a_side_that_holds_the_other_and_loses_was_searched_too_little(made, golden):
    # A chose among warm-ups of 0.05 to 0.2 and ends higher than B, which has the 0.05 of that grid
    warmups = made.tuning("A", (4.0, 3.0, 3.5), path="schedule.warmup_steps")
    a = [made.run("A", seed, 4.0, **{"schedule.warmup_steps": 0.1}) for seed in range(1, 7)]
    b = [made.run("B", seed, 3.0, **{"schedule.warmup_steps": 0.05}) for seed in range(1, 7)]
    loses = {"verdict": "contradicted", "estimate": 1.0, "low": 0.9, "high": 1.1}
    (line,) = made.lines("R33", [made.claim()], a + b, [made.verdict(**loses)], tunings=[warmups])
    golden(line.says)
    assert not made.lines("R33", [made.claim()], a + b, [made.verdict()], tunings=[warmups])
    wider = [made.run("B", seed, 3.0, lr=0.3, **{"schedule.warmup_steps": 0.05}) for seed in range(1, 7)]
    assert not made.lines("R33", [made.claim()], a + wider, [made.verdict(**loses)], tunings=[warmups])


def test_an_order_that_holds_at_every_budget_is_a_strength(made, golden):
    apart = [made.tuning("A", (4.0, 3.0, 3.5)), made.tuning("B", (5.0, 4.5, 4.7))]
    (line,) = made.lines("R34", [made.claim()], both(made), [made.verdict()], tunings=apart)
    golden(line.says)
    assert line.strength
    assert not line.is_open
    # A has the better best and the worse rest: with two tries B would be expected to win
    crossing = [made.tuning("A", (9.0, 3.0, 9.0)), made.tuning("B", (3.1, 3.1, 3.1), value=0.1)]
    assert not made.lines("R34", [made.claim()], both(made), [made.verdict()], tunings=crossing)


def test_the_expected_best_of_k_is_the_mean_over_all_draws():
    assert expected_best([1.0, 2.0, 4.0], 1) == pytest.approx(7 / 3)
    assert expected_best([1.0, 2.0, 4.0], 2) == pytest.approx((1 + 1 + 2) / 3)
    assert expected_best([1.0, 2.0, 4.0], 3) == 1.0


@pytest.mark.parametrize(("loss", "fires"), [(5.5, True), (3.0, False), (5.95, False)])
def test_runs_that_barely_learn(made, loss, fires):
    runs = [made.run(method, seed, loss) for method in PAIR for seed in range(1, 7)]
    found = made.lines("R3c", [made.claim()], runs, [made.verdict()])
    says = ["The best run of this size ends only 8 % below the loss of word frequencies."]
    assert [line.says for line in found] == (says if fires else [])


def test_the_scale_is_told_of_every_trained_page(made, golden):
    (line,) = made.lines("R9", [made.claim()], both(made), [made.verdict()])
    golden(line.says)
    assert not line.is_open
    untrained = [made.run(method, 1, 7.0, steps=0) for method in PAIR]
    assert not made.lines("R9", [made.claim()], untrained, [made.verdict()])


def test_the_scale_is_compared_with_that_of_the_source(made, golden):
    source = {"tokens_per_parameter": 20, "updates": 50_000, "rates": [3e-4], "clip": 1.0, "decay": 0.1}
    (line,) = made.lines("R9", [made.claim()], both(made), [made.verdict()], source_setting=source)
    golden(line.says)


def test_a_median_with_another_word_is_told(made, golden):
    # one seed of nine far out: the mean's interval reaches across the edge of 0, that of the median lies below it
    seeds = dict(enumerate([-0.3, -0.32, -0.31, -0.29, -0.28, -0.33, -0.34, -0.35, 2.0], 1))
    skewed = made.verdict(verdict="undecided", seeds=seeds, estimate=-0.06, low=-0.6, high=0.5)
    (line,) = made.lines("R8", [made.claim()], both(made), [skewed])
    golden(line.says)
    assert line.grave
    same = made.verdict(seeds=seeds, high=-0.1)
    (line,) = made.lines("R8", [made.claim()], both(made), [same])
    assert not line.is_open
    golden(line.says)
    assert not made.lines("R8", [made.claim()], both(made), [made.verdict()])


def test_the_skewness_of_ratios_is_that_of_their_logarithms():
    assert skewness([1.0, 1.0, 1.0], log=False) is None
    assert skewness([1.0, 2.0, 4.0, 8.0], log=True) == pytest.approx(0.0, abs=1e-12)


def test_two_verdicts_on_one_number(made, golden):
    seeds = {seed: 0.1 * seed**1.5 for seed in range(1, 7)}
    twice = [made.verdict(seeds=seeds), made.verdict("again", seeds={s: -2 * x for s, x in seeds.items()})]
    claims = [made.claim(), made.claim("again")]
    (line,) = made.lines("R13", claims, both(made), twice)
    golden(line.says)
    other = made.verdict("again", seeds=dict(zip(range(1, 7), (1.0, 5.0, 2.0, 4.0, 3.0, 1.5), strict=True)))
    assert not made.lines("R13", claims, both(made), [made.verdict(seeds=seeds), other])


def test_an_effect_within_the_accepted_range(made, golden):
    within = {"estimate": 0.04, "low": 0.03, "high": 0.045, "region_high": 0.05, "region_low": -0.05}
    (line,) = made.lines("R19", [made.claim()], both(made), [made.verdict(**within)])
    golden(line.says)
    for harmless in ({"estimate": 0.01, "low": 0.005, "high": 0.015}, {"low": -0.01}):
        assert not made.lines("R19", [made.claim()], both(made), [made.verdict(**{**within, **harmless})])


def test_an_effect_far_on_the_other_side(made, golden):
    far = {"estimate": -0.5, "low": -0.6, "high": -0.4, "region_high": 0.05}
    (line,) = made.lines("R29", [made.claim()], both(made), [made.verdict(**far)])
    golden(line.says)
    near = {**far, "estimate": 0.0, "low": -0.03, "high": 0.03}
    assert not made.lines("R29", [made.claim()], both(made), [made.verdict(**near)])


@pytest.mark.parametrize(("value", "fires"), [(5.3, True), (0.9, False)])
def test_a_share_lies_between_0_and_1(made, value, fires):
    claim = made.claim(kind="bound", of={"quantity": "ggn_share_of_extra_frobenius"}, over=None, order=None)
    share = made.verdict(quantity="ggn_share_of_extra_frobenius", measure="value", estimate=value, low=None, high=None)
    found = made.lines("R32", [claim], both(made), [share])
    assert [line.says for line in found] == ([f"A share of {value} lies outside 0 to 1."] if fires else [])


@pytest.mark.parametrize(
    ("says", "fires"), [("Warm-up helps.", True), ("At twice the best rate warm-up helps.", False)]
)
def test_a_setting_that_no_sentence_names(made, says, fires):
    runs = [made.run(method, 1, lr=lr) for method in PAIR for lr in (0.1, 0.2)]
    pinned = made.claim(says=says, of={"quantity": "final_nll", "optimizer.lr": 0.1})
    found = made.lines("R5", [pinned], runs, plan=True)
    told = "The sentence names no learning rate; it is tested at 0.1, and others are run."
    assert [line.says for line in found] == ([told] if fires else [])


def test_a_verdict_that_depends_on_its_setting_shows_both_numbers(made, golden):
    reason = "as judged −0.5, supported; at a learning rate of 0.2 0.3, contradicted; the sentence does not say which"
    open_word = made.verdict(verdict="undecided", detail="depends on the setting", reason=reason)
    (line,) = made.lines("R5", [made.claim()], both(made), [open_word])
    golden(line.says)
    assert not made.lines("R5", [made.claim()], both(made), [made.verdict(verdict="undecided")])


@pytest.mark.parametrize(("detail", "fires"), [("better than the range", True), ("worse than the range", False)])
def test_a_result_on_the_better_side_of_a_range(made, detail, fires):
    found = made.lines("R18", [made.claim()], both(made), [made.verdict(verdict="beyond", detail=detail)])
    told = "It ends better than the range, not worse: −0.5 [−0.6, −0.4]."
    assert [line.says for line in found] == ([told] if fires else [])


def test_what_is_not_there_cannot_be_tested(made, golden):
    absent = made.verdict(
        verdict="not testable here", reason="without the remedy it grows 1.3-fold, and a 2-fold is asked"
    )
    (line,) = made.lines("R3d", [made.claim()], both(made), [absent])
    golden(line.says)
    assert not made.lines("R3d", [made.claim(requires=[{"kind": "status"}])], both(made), [absent])


def test_the_best_side_that_no_claim_reads(made, golden):
    runs = [*both(made), *(made.run("C", seed, 2.0) for seed in range(1, 7))]
    (line,) = made.lines("R17", [made.claim()], runs, [made.verdict()])
    golden(line.says)
    worse = [*both(made), *(made.run("C", seed, 4.0) for seed in range(1, 7))]
    assert not made.lines("R17", [made.claim()], worse, [made.verdict()])


def test_a_control_that_did_not_hold(made, golden):
    claims = [made.claim(), made.claim("control", role="control")]
    failed = made.verdict("control", role="control", verdict="undecided")
    (line,) = made.lines("R30", claims, both(made), [made.verdict(), failed])
    assert line.claims == ("control",)
    golden(line.says)
    held = made.verdict("control", role="control")
    assert not made.lines("R30", claims, both(made), [made.verdict(), held])


def test_a_verdict_against_the_source_without_a_control(made, golden):
    against = made.verdict(verdict="contradicted")
    (line,) = made.lines("R31", [made.claim()], both(made), [against])
    golden(line.says)
    control = made.claim("control", role="control")
    held = made.verdict("control", role="control")
    assert not made.lines("R31", [made.claim(), control], both(made), [against, held])
    assert not made.lines("R31", [made.claim(requires=[{"kind": "status"}])], both(made), [against])
    assert not made.lines("R31", [made.claim()], both(made), [made.verdict()])


@pytest.mark.parametrize(("word", "fires"), [("undecided", True), ("supported", False), ("contradicted", False)])
def test_a_yes_on_an_open_claim(made, word, fires):
    answers = [{"says": "Yes. It does.", "while": {"it": word}}]
    found = made.lines("R10a", [made.claim()], both(made), [made.verdict(verdict=word)], answers=answers)
    told = 'The answer says "Yes", yet a claim behind it is undecided: −0.5 [−0.6, −0.4].'
    assert [line.says for line in found] == ([told] if fires else [])


@pytest.mark.parametrize(("high", "fires"), [(0.2, True), (-0.4, False)])
def test_a_number_that_is_quoted_without_its_wide_interval(made, high, fires):
    answers = [{"says": "It gains {it.estimate} nats.", "while": {}}]
    found = made.lines("R10d", [made.claim()], both(made), [made.verdict(high=high)], answers=answers)
    assert [line.claims for line in found] == ([("it",)] if fires else [])


@pytest.mark.parametrize(("word", "fires"), [("undecided", True), ("supported", False)])
def test_an_explanation_of_another_verdict(made, word, fires):
    because = {"it": {word: "It is so."}}
    found = made.lines("R25", [made.claim()], both(made), [made.verdict()], because=because)
    assert [line.says for line in found] == (
        ["It is explained why this is undecided, and it is supported."] if fires else []
    )


@pytest.mark.parametrize(
    ("says", "statistic", "fires"),
    [
        ("A ends a little lower than B.", "C - D", True),
        ("A ends lower than C.", "C - D", False),  # of something else
        ("Nothing of the like is said there.", "A - B", True),  # the same sides, both of a source
        ("Nothing of the like is said there.", "C - D", False),
    ],
)
def test_another_page_that_judges_the_sentence_otherwise(made, says, statistic, fires):
    elsewhere = made.verdict("its", says=says, verdict="contradicted", statistic=statistic)
    sentence = {"says": "A ends lower than B at last."} if "C." in says else {}
    own = made.verdict(**sentence)
    found = made.lines("R6a", [made.claim(**sentence)], both(made), [own], neighbours=[Neighbour("there", elsewhere)])
    assert [line.rule for line in found] == (["R6a"] if fires else [])
    same_word = Neighbour("there", made.verdict("its"))
    assert not made.lines("R6a", [made.claim()], both(made), [made.verdict()], neighbours=[same_word])


def test_an_answer_is_kept_beside_its_line_and_closes_it(made):
    answered = made.claim(answered={"R31": "The baseline of the same table learns."})
    (line,) = made.lines("R31", [answered], both(made), [made.verdict(verdict="contradicted")])
    assert line.answers == {"it": "The baseline of the same table learns."}
    assert not line.is_open
    assert open_lines([line]) == []


def test_a_line_about_two_claims_is_open_until_both_answer(made):
    claims = [made.claim(answered={"R15": "Seeds hardly differ."}), made.claim("again")]
    (line,) = made.lines("R15", claims, both(made), plan=True, tunings=[made.tuning("A", seeds=(101,))])
    assert line.is_open


def test_every_rule_asks_a_question_and_says_when():
    assert all(rule.asks.endswith("?") and rule.find.__doc__ for rule in RULES.values())
    assert {rule.when for rule in RULES.values()} == {"report", "both"}
    told = {rule.name for rule in RULES.values() if not rule.settles}
    assert told == {"R9", "R18", "R34"}
    assert SHOWN == 6
