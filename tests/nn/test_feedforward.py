"""The feed-forward network against torch.nn's parts, and the variance it adds."""

import pytest
import torch
from torch import nn

from lnlab.nn.feedforward import FeedForward


def test_feed_forward_is_two_linear_maps_around_a_relu():
    mine = FeedForward(6, 10).double()
    theirs = nn.Sequential(mine.w1, nn.ReLU(), mine.w2)
    x = torch.randn(3, 4, 6, dtype=torch.float64)
    torch.testing.assert_close(mine(x), theirs(x))


@pytest.mark.parametrize(("ratio", "variance"), [(1, 0.5), (2, 4 / 9), (4, 0.32)])
def test_branch_variance_under_xavier_is_2r_over_1_plus_r_squared(ratio, variance):
    """Of a unit-variance input, in expectation over weights: 0.5, 0.444, 0.32."""
    generator = torch.Generator().manual_seed(ratio)
    branch, found = FeedForward(128, 128 * ratio), []
    for _ in range(20):
        for linear in (branch.w1, branch.w2):
            nn.init.xavier_normal_(linear.weight, generator=generator)
            nn.init.zeros_(linear.bias)
        found.append(branch(torch.randn(100, 128, generator=generator)).square().mean().item())
    assert sum(found) / 20 == pytest.approx(variance, rel=0.04)


def test_relu_halves_the_squared_norm_of_a_gaussian():
    """Xiong et al. (2020), Lemma 1: E‖ReLU(X)‖² = σ² d / 2."""
    x = 3.0 * torch.randn(2000, 64, generator=torch.Generator().manual_seed(0))
    assert torch.relu(x).square().sum(-1).mean().item() == pytest.approx(9 * 64 / 2, rel=0.02)
