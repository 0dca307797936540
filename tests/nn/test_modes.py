"""Modes: set as ``train`` sets them, also where a module has its own way, and put back after a while."""

import pytest
from torch import nn

from lnlab.nn.batch_norm import BatchNorm
from lnlab.nn.modes import in_mode, switch


class Frozen(nn.Sequential):
    """Never in training, whatever it is told."""

    def train(self, _mode=True):
        return super().train(False)


def modes(model):
    return [module.training for module in model.modules()]


@pytest.mark.parametrize("kind", [nn.Sequential, Frozen])
def test_a_switch_sets_every_mode_that_train_sets(kind):
    model = nn.Sequential(nn.Linear(2, 2), kind(nn.Dropout(0.5), nn.LayerNorm(2)))
    switched = switch(model)
    for training in (False, True, False):
        switched(training)
        found = modes(model)
        model.train(not training)
        model.train(training)
        assert found == modes(model)


@pytest.mark.parametrize("remembered", [False, True])
def test_for_a_while_all_are_in_one_mode_and_then_each_in_its_own_again_though_it_fails(remembered):
    model = nn.Sequential(BatchNorm(2), nn.Dropout(0.5).eval())
    before, inside = modes(model), []

    def fail():
        with in_mode(model, training=False, remembered=remembered):
            inside.extend([*modes(model), model[0].observed])
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert inside == [False, False, False, not remembered]
    assert modes(model) == before
    assert not model[0].observed
