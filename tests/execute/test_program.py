"""From a setting to live objects, the same whatever this process did before."""

from itertools import islice

import pytest
import torch

from lnlab.errors import LabError
from lnlab.execute.program import build, count_parameters, intervened
from lnlab.randomness import Draw
from tests.support.toy_pieces import REGISTRIES, Toy


def values(state):
    return torch.cat([tensor.detach().flatten() for tensor in state.model.parameters()])


def test_a_state_before_the_first_update_has_the_precision_that_its_setting_asks_for(unit_of):
    state = build(unit_of(3, "norm"), REGISTRIES)
    assert (state.step, state.draw.seed, state.optimizer) == (0, 3, None)
    assert not any(module.training for module in state.model.modules())
    assert {parameter.dtype for parameter in state.model.parameters()} == {torch.float32}
    assert count_parameters(state.model) == 3 * 3 + 3 + 3 + 3 + 1
    unit = unit_of(3, "norm")
    unit.setting["train"] = {"steps": 0, "precision": "float64"}
    assert {parameter.dtype for parameter in build(unit, REGISTRIES).model.parameters()} == {torch.float64}


def test_what_no_init_touches_depends_on_the_seed_and_not_on_the_past(unit_of):
    one = values(build(unit_of(1), REGISTRIES))
    torch.rand(100)
    assert torch.equal(one, values(build(unit_of(1), REGISTRIES)))
    two = values(build(unit_of(2), REGISTRIES))
    assert not torch.isclose(one, two).any() or (one == two).sum() < len(one) / 2
    assert build(unit_of(1), REGISTRIES).model.extra != build(unit_of(2), REGISTRIES).model.extra


def seen_by_init(seed, n=None):
    """The sum of the toy task's batches that are addressed to inits."""
    return sum(batch.sum() for batch in islice(Toy(Draw(seed), ()).batches("train", "init"), n)).item()


@pytest.mark.parametrize(
    ("init", "factor", "n"),
    [
        ({"kind": "sums"}, 1, None),
        ({"kind": "sums", "n": 2}, 1, 2),
        ({"kind": "doubles", "of": "sums"}, 2, None),
        ({"kind": "doubles", "of": {"kind": "doubles", "of": {"kind": "sums", "n": 1}}}, 4, 1),
    ],
)
def test_an_init_is_given_data_if_it_asks_for_it_at_whatever_depth(unit_of, init, factor, n):
    for seed in (1, 2):
        found = build(unit_of(seed, init=init), REGISTRIES).model.extra.item()
        assert found == pytest.approx(factor * seen_by_init(seed, n), rel=1e-6)
    assert seen_by_init(1, n) != seen_by_init(2, n)


def test_more_batches_than_there_are_is_the_users_mistake(unit_of, golden):
    with golden.raises(LabError):
        build(unit_of(1, init={"kind": "sums", "n": 9}), REGISTRIES)


def test_interventions_act_in_their_order_and_those_on_the_update_only_where_there_is_one(unit_of):
    unit = unit_of(1, interventions=[{"kind": "times", "factor": 2}, "halve", {"kind": "times", "factor": 5}])
    model = build(unit, REGISTRIES).model
    x = torch.ones(1, 3)
    before = model(x)
    with intervened(model, None, unit.setting, REGISTRIES):
        torch.testing.assert_close(model(x), 10 * before)
    assert torch.equal(model(x), before)
    with intervened(model, torch.optim.SGD(model.parameters()), unit.setting, REGISTRIES):
        assert len(model._forward_hooks) == 3
    assert not model._forward_hooks


def test_what_was_entered_is_left_when_another_finds_nothing(unit_of):
    unit = unit_of(1, interventions=["times", {"kind": "times", "reaches": False}])
    model = build(unit, REGISTRIES).model
    with pytest.raises(LabError, match="no activation there"), intervened(model, None, unit.setting, REGISTRIES):
        pass
    assert not model._forward_hooks
