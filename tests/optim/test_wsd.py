"""Warm-up, stable, decay against the function of transformers, and by hand."""

import math

import pytest
import torch

from lnlab.errors import LabError
from lnlab.optim.schedules import schedules


def factors(steps, **given):
    factor = schedules.builder(schedules.resolve({"kind": "wsd", **given}))(steps)
    return [factor(t) for t in range(1, steps + 1)]


@pytest.mark.parametrize("shape", ["linear", "cosine"])
def test_it_is_that_of_transformers_one_update_later(shape):
    optimization = pytest.importorskip("transformers.optimization")
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    theirs = optimization.get_wsd_schedule(
        optimizer, num_warmup_steps=10, num_decay_steps=20, num_training_steps=100, decay_type=shape
    ).lr_lambdas[0]
    assert factors(100, warmup_steps=10, decay=0.2, shape=shape) == pytest.approx([theirs(t) for t in range(1, 101)])


def test_the_other_shapes_by_hand_and_an_exponential_decay_never_comes_to_0():
    root = factors(10, decay=0.4, shape="sqrt", floor=0.1)
    assert root == pytest.approx([1] * 6 + [1 - 0.9 * math.sqrt(p) for p in (0.25, 0.5, 0.75, 1)])
    power = factors(10, decay=0.4, shape="exponential", floor=0.1)
    assert power == pytest.approx([1] * 6 + [0.1**p for p in (0.25, 0.5, 0.75, 1)])
    with pytest.raises(LabError, match="floor"):
        factors(10, shape="exponential")
