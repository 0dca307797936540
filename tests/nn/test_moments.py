"""Means, variances and covariances through each part, against closed forms (Kedia et al., 2024).

Two tokens of correlation r, each N(0, s²) in every coordinate, go forward; gradients of correlation r_g come back.
"""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lnlab.nn.attention import SoftmaxAttention
from lnlab.nn.feedforward import FeedForward
from lnlab.nn.norms import norms

SAMPLES = 200_000
scales = st.floats(0.2, 5.0)
correlations = st.floats(-0.9, 0.95)


def correlated(scale: float, r: float, shape: tuple[int, ...], seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    x, y = torch.randn(2, *shape, generator=generator, dtype=torch.float64)
    return scale * x, scale * (r * x + math.sqrt(1 - r * r) * y)


def near(found: torch.Tensor, expected: float, of: float) -> None:
    """Within 2 % of the natural size ``of``: four deviations of the sample."""
    assert abs(found.item() - expected) < 0.02 * of


@settings(max_examples=15, deadline=None, derandomize=True)
@given(scales, correlations, correlations)
def test_a_relu_forward_and_back(s, r, r_g):
    x, y = (t.requires_grad_() for t in correlated(s, r, (SAMPLES,), 1))
    a, b = torch.relu(x), torch.relu(y)
    variance = s * s * (math.pi - 1) / (2 * math.pi)
    covariance = s * s / (2 * math.pi) * (math.pi * r + math.sqrt(1 - r * r) - r * math.acos(r) - 1)
    near(a.mean(), s / math.sqrt(2 * math.pi), s)
    near(a.var(), variance, s * s)
    near(((a - a.mean()) * (b - b.mean())).mean(), covariance, s * s)
    g, h = correlated(s, r_g, (SAMPLES,), 2)
    back, other = torch.autograd.grad((a * g + b * h).sum(), (x, y))
    near(back.square().mean(), s * s / 2, s * s)
    near((back * other).mean(), (1 / 4 + math.asin(r) / (2 * math.pi)) * r_g * s * s, s * s)


@settings(max_examples=10, deadline=None, derandomize=True)
@given(scales, correlations)
def test_a_layer_norm_forward_and_back(s, r):
    width = 64
    norm = norms.builder(norms.resolve({"kind": "layer", "eps": 1e-12}))(width).double()
    x, y = (t.requires_grad_() for t in correlated(s, r, (SAMPLES // width, width), 1))
    a, b = norm(x), norm(y)
    near(a.var(), 1.0, 1.0)
    assert (a * b).mean().item() == pytest.approx(r * (1 - 1 / width), abs=0.03)
    g = torch.randn(a.shape, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    (back,) = torch.autograd.grad((a * g).sum(), x)
    near(back.square().mean() * s * s, 1.0, 1.0 + 3.0)


@pytest.mark.parametrize("r", [0.0, 0.3, 0.9])
def test_uniform_attention_keeps_what_tokens_share(r):
    """Variance r s² d var(w) + O(1/n) through v; a gradient comes back divided by n, and what it shares does not."""
    width, length = 128, 64
    torch.manual_seed(0)
    attention = SoftmaxAttention(width, 1).double()
    for p in attention.parameters():
        torch.nn.init.zeros_(p)
    torch.nn.init.normal_(attention.v.weight, std=width**-0.5)
    torch.nn.init.eye_(attention.o.weight)
    shared, own = torch.randn(2, 8, length, width, dtype=torch.float64)
    x = (math.sqrt(r) * shared[:, :1] + math.sqrt(1 - r) * own).requires_grad_()
    y = attention(x, x, torch.ones(1, 1, 1, length, dtype=torch.bool))
    expected = r + (1 - r) / length
    assert y.var().item() == pytest.approx(expected, rel=0.25)
    g = math.sqrt(r) * shared[:, 1:2] + math.sqrt(1 - r) * torch.randn(8, length, width, dtype=torch.float64)
    (back,) = torch.autograd.grad((y * g).sum(), x)
    assert back.square().mean().item() == pytest.approx((1 + (length - 1) * r) / length, rel=0.25)


@pytest.mark.parametrize(("d_ff", "expected"), [(256, 0.5), (512, 0.444), (1024, 0.32)])
def test_the_branch_of_a_feed_forward_network(d_ff, expected):
    """2 r / (1 + r)² of a unit input, r = d_ff / d, under Xavier."""
    torch.manual_seed(0)
    found = []
    for _ in range(10):
        network = FeedForward(256, d_ff)
        for p in network.parameters():
            torch.nn.init.xavier_normal_(p) if p.dim() > 1 else torch.nn.init.zeros_(p)
        found.append(network(torch.randn(200, 256)).square().mean().item())
    assert sum(found) / 10 == pytest.approx(expected, rel=0.04)


@pytest.mark.parametrize(("kind", "lost"), [("layer", 2), ("rms", 1)])
def test_the_jacobian_of_a_norm(kind, lost):
    """1/sigma as often as there are coordinates, but 0 twice (LayerNorm) or once (RMSNorm)."""
    norm = norms.builder(norms.resolve({"kind": kind, "eps": 1e-300}))(16).double()
    x = torch.randn(16, dtype=torch.float64, generator=torch.Generator().manual_seed(0)) * 3 + 1
    centred = x - x.mean() if kind == "layer" else x
    found = torch.linalg.svdvals(torch.autograd.functional.jacobian(norm, x))
    sigma = centred.square().mean().sqrt()
    torch.testing.assert_close(found[: 16 - lost] * sigma, torch.ones(16 - lost, dtype=torch.float64))
    assert found[16 - lost :].max() < 1e-12
    assert torch.linalg.vector_norm(found).item() == pytest.approx((16 - lost) ** 0.5 / sigma.item())
