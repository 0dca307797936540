"""Updates to 90 % of a run's own drop, by hand."""

import math

import pytest

from lnlab.analyse.drops import steps_to_drop

CURVES = {
    "quick": ({0: 1.0, 10: 0.2, 20: 0.09, 30: 0.0}, 20.0),
    "slow": ({0: 1.0, 10: 0.9, 20: 0.5, 30: 0.0}, 30.0),
    "and back": ({0: 1.0, 10: 0.05, 20: 0.0, 30: 3.0}, 10.0),
    "small drop": ({0: 1.0, 10: 0.999, 20: 0.999, 30: 0.999}, 10.0),
    "never": ({0: 1.0, 10: 1.0, 20: 2.0, 30: 1.5}, math.inf),
    "spike": ({0: 1.0, 10: math.inf, 20: 0.0, 30: 0.5}, 20.0),
}


@pytest.mark.parametrize("name", CURVES)
def test_the_first_evaluation_at_nine_tenths(setting, training, trained, name):
    losses, expected = CURVES[name]
    found = steps_to_drop(training({"a": setting()}, {("a", 1): trained(losses)}, steps=30))
    assert found["value"].to_list() == [expected]


def test_who_diverged_is_never_there_and_who_was_not_seen_at_first_or_was_cut_has_no_number(setting, training, trained):
    runs = {
        ("a", 1): trained({0: 1.0, 10: 0.0}, "diverged", 12),
        ("a", 2): trained({10: 1.0, 20: 0.0}),
        ("a", 3): trained({0: 1.0, 10: 0.0}, "finished", 10),
        ("a", 4): trained({}, None),
    }
    found = steps_to_drop(training({"a": setting()}, runs, steps=30))
    assert found.select("seed", "value").rows() == [(1, math.inf)]
