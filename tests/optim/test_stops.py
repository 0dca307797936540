"""When each rule ends a run, on curves made for it; asked, as in a run, after every value."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lnlab.errors import LabError
from lnlab.optim.stops import Curves, Ending, Rule, stops

NAN, INF = math.nan, math.inf
TRAIN, NLL = ("train", "loss"), ("validation", "nll")
EVERY = [{"kind": "target", "at_most": 0.0} if e.name == "target" else {"kind": e.name} for e in stops]


def made(kind: str, **options: Any) -> Rule:
    """A rule as a spec would choose it."""
    return stops.builder(stops.resolve({"kind": kind, **options}))()


def training(*losses: float) -> Curves:
    return {TRAIN: list(enumerate(losses))}


def evaluated(*values: float, every: int = 10) -> Curves:
    return {TRAIN: [(0, 5.0)], NLL: [(every * i, value) for i, value in enumerate(values)]}


def ended(rule: Rule, curves: Curves, key: tuple[str, str]) -> tuple[int | None, Ending | None]:
    """The step of the value of this curve after which the rule first ends the run."""
    for n in range(1, len(curves[key]) + 1):
        ending = rule({**curves, key: curves[key][:n]})
        if ending is not None:
            return curves[key][n - 1][0], ending
    return None, None


@pytest.mark.parametrize("choice", EVERY, ids=lambda choice: choice["kind"])
@pytest.mark.parametrize("value", [NAN, INF, -INF])
@pytest.mark.parametrize("key", [TRAIN, NLL, ("validation", "loss"), ("validation", "accuracy"), ("test", "nll")])
def test_every_rule_ends_at_a_value_that_is_not_finite(choice, key, value):
    curves = {TRAIN: [(0, 5.0), (1, 4.9)]} | {key: [(0, 5.0), (1, 4.9), (2, value), (3, value)]}
    step, ending = ended(made(**choice), curves, key)
    assert step == 2
    assert ending.status == "diverged"
    assert ending.reason == f"{key[0]} {key[1]} is {value} at step 2"


@pytest.mark.parametrize("choice", EVERY, ids=lambda choice: choice["kind"])
def test_no_rule_ends_before_anything_is_known_or_while_losses_fall(choice):
    rule = made(**choice)
    assert rule({}) is None
    assert rule({TRAIN: [], NLL: []}) is None
    falling = [(i, 5 / (1 + i / 100)) for i in range(300)]
    for n in range(1, 300):
        assert rule({TRAIN: falling[:n], NLL: falling[:n:20]}) is None


def test_a_loss_above_so_many_times_the_first_has_diverged_and_one_that_is_not_finite_always():
    curves = training(5.0, 4.9) | {
        ("train", "global_gradient_norm"): [(0, INF)],
        ("train", "unigram_entropy"): [(0, NAN)],
    }
    assert made("non_finite")(curves) is None
    curves = training(5.0, 4.0, 7.5, 9.99, 10.0, 10.01, 3.0)
    assert ended(made("loss_above"), curves, TRAIN) == (
        5,
        Ending("diverged", "train loss 10.01 at step 5 is above 2 times its first, 5"),
    )
    assert ended(made("loss_above", times=1.4), curves, TRAIN)[0] == 2
    assert ended(made("loss_above", times=3), curves, TRAIN) == (None, None)
    assert ended(made("loss_above", after=100), training(5.0, NAN), TRAIN)[0] == 1


@pytest.mark.parametrize(("after", "step"), [(0, 1), (1, 1), (2, 4), (4, 4), (5, None)])
def test_losses_of_the_first_updates_are_let_pass(after, step):
    """The loss at step s is that of update s + 1."""
    curves = training(5.0, 20.0, 6.0, 5.0, 20.0, 4.0)
    assert ended(made("loss_above", after=after), curves, TRAIN)[0] == step


def test_a_target_is_reached_at_the_first_loss_that_is_low_enough_of_training_as_well(golden):
    curves = evaluated(5.0, 3.1, 3.0, 2.0)
    expected = Ending("finished", "validation nll 3 at step 20 has come down to 3")
    assert ended(made("target", at_most=3), curves, NLL) == (20, expected)
    assert ended(made("target", at_most=1.9), curves, NLL) == (None, None)
    assert ended(made("target", at_most=3, quantity="loss"), curves, NLL) == (None, None)
    rule = made("target", at_most=4.5, split="train", quantity="loss")
    assert ended(rule, training(5.0, 4.6, 4.4, 4.7), TRAIN)[0] == 2
    assert rule(evaluated(5.0, 1.0)) is None
    with golden.raises(LabError):
        made("target", at_most=4.5, split="train")


@pytest.mark.parametrize(
    ("options", "values", "step"),
    [
        ({"patience": 2}, [5, 4, 3, 3, 3], 40), ({"patience": 2}, [5, 4, 3, 3.5, 2.9, 2.95, 2.95], 60),
        ({"patience": 2}, [5, 4, 3, 3.5, 2.99], None), ({"patience": 1}, [5, 4, 4], 20), ({"patience": 1}, [5], None),
        ({"patience": 3}, [5, 5, 5], None), ({"patience": 3}, [5, 5, 5, 5], 30),
        ({"patience": 2, "least": 0.1}, [5, 4, 3.95, 3.95], 30),
        ({"patience": 2, "least": 0.1}, [5, 4, 3.95, 3.87, 3.86], 40),
        ({"patience": 2, "least": 0.1}, [5, 4, 3.95, 3.85, 3.7], None), ({}, [5, 4, 4.5, 4.4, 4.3, 4.2, 4.1, 1], 60),
    ],
    ids=str,
)  # fmt: skip
def test_a_plateau_is_patience_evaluations_without_a_better_one(options, values, step):
    found, ending = ended(made("plateau", **options), evaluated(*values), NLL)
    assert found == step
    assert ending is None or ending.status == "finished"


LOSSES = st.lists(st.floats(0, 20) | st.sampled_from([NAN, INF]), min_size=1, max_size=12)


@given(st.sampled_from(EVERY), LOSSES, LOSSES)
def test_a_rule_depends_on_the_curves_alone_and_leaves_them_as_they_are(choice, losses, values):
    """So a run that is resumed, with a new rule, ends where the uninterrupted one does."""
    curves = training(*losses) | {NLL: evaluated(*values)[NLL]}
    before, once, rule = repr(curves), made(**choice), made(**choice)
    for n in range(len(losses)):
        rule({**curves, TRAIN: curves[TRAIN][: n + 1]})
    assert once(curves) == rule(curves)
    assert repr(curves) == before
