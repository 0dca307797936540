"""The gradient noise scale on linear losses, whose gradients are known: over all draws, and against a closed form."""

from itertools import product

import pytest
import torch
from torch import nn

from lnlab.probes.gradient_noise import gradient_noise
from lnlab.probes.gradient_norm import gradient_norm
from lnlab.probes.probe import State


class Linear:
    """A task whose loss of an item x is <θ, x>, so that its gradient is x."""

    def __init__(self, batches):
        self.given = batches

    def batches(self, split, purpose):
        return iter(self.given)

    def loss(self, model, batch):
        return (batch @ model.weight).sum(), len(batch)


def measured(batches):
    model = nn.Module()
    model.weight = nn.Parameter(torch.zeros(batches[0].shape[1], dtype=torch.float64))
    state = State(model, Linear(batches), None, 0)
    return {row["quantity"]: row["value"] for row in gradient_noise(state, batches=len(batches))}


def test_signal_and_variance_have_no_bias_over_all_draws_of_unequal_batches():
    """Items of two values with equal chances: the mean over all 2^5 draws is the truth."""
    values = torch.tensor([[3.0, 1.0], [-1.0, 2.0]], dtype=torch.float64)
    mean = values.mean(0)
    trace = (values - mean).square().sum(1).mean()
    draws = [values[list(draw)] for draw in product(range(2), repeat=5)]
    found = [measured([draw[:1], draw[1:3], draw[3:]]) for draw in draws]
    for quantity, truth in (("gradient_signal", mean.square().sum()), ("gradient_variance", trace)):
        average = sum(each[quantity] for each in found) / len(found)
        assert average == pytest.approx(truth.item(), rel=1e-12)


def test_the_scale_of_many_batches_is_that_of_the_distribution():
    generator = torch.Generator().manual_seed(3)
    mean, spread = torch.tensor([0.5, -1.0, 0.2]), torch.tensor([2.0, 1.0, 3.0])
    items = mean + spread * torch.randn(24_000, 3, generator=generator)
    scale = measured(list(items.double().split(6)))["gradient_noise_scale"]
    assert scale == pytest.approx((spread.square().sum() / mean.square().sum()).item(), rel=0.03)


def test_where_the_batches_cancel_there_is_no_scale():
    found = measured([torch.tensor([[1.0, 0.0]]).double(), torch.tensor([[-1.0, 0.0]]).double()])
    assert found == {"gradient_signal": -1.0, "gradient_variance": pytest.approx(2.0)}


def test_the_signal_is_the_sum_over_the_parameters_that_gradient_norm_measures_one_by_one(state):
    made = state("pre", tied="none")
    (signal,) = (row["value"] for row in gradient_noise(made, batches=3) if row["quantity"] == "gradient_signal")
    parts = gradient_norm(made, batches=3, biases=True)
    expected = sum(row["value"] for row in parts if row["quantity"] == "gradient_norm_unbiased_sq")
    assert signal == pytest.approx(expected, rel=1e-5)
