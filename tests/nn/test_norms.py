"""Norms against their formulas."""

import pytest
import torch

from lnlab.nn.norms import norms


@pytest.fixture
def x() -> torch.Tensor:
    return torch.randn(5, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(0)) * 3 + 1


def test_layer_norm_and_rms_norm_are_their_formulas_and_none_is_the_identity(x):
    norm = norms.builder(norms.resolve("layer"))(8).double()
    torch.nn.init.normal_(norm.weight)
    torch.nn.init.normal_(norm.bias)
    for row, out in zip(x, norm(x), strict=True):
        mean = sum(row) / 8
        var = sum((v - mean) ** 2 for v in row) / 8
        expected = (row - mean) / (var + 1e-5) ** 0.5 * norm.weight + norm.bias
        torch.testing.assert_close(out, expected, rtol=1e-12, atol=1e-12)
    norm = norms.builder(norms.resolve("rms"))(8).double()
    torch.nn.init.normal_(norm.weight)
    for row, out in zip(x, norm(x), strict=True):
        expected = row / (sum(v * v for v in row) / 8 + 1e-6) ** 0.5 * norm.weight
        torch.testing.assert_close(out, expected, rtol=1e-12, atol=1e-12)
    norm = norms.builder(norms.resolve("none"))(8)
    assert torch.equal(norm(x), x)
    assert not list(norm.parameters())


@pytest.mark.parametrize("kind", ["layer", "rms"])
def test_eps_is_what_the_spec_says(kind, x):
    norm = norms.builder(norms.resolve({"kind": kind, "eps": 100.0}))(8).double()
    centred = x - x.mean(-1, keepdim=True) if kind == "layer" else x
    torch.testing.assert_close(norm(x), centred / (centred.square().mean(-1, keepdim=True) + 100).sqrt())


@pytest.mark.parametrize("width", [64, 256])
def test_without_centring_a_token_of_mean_zero_is_normed_alike_but_for_one_over_the_root_of_its_width(width):
    """‖RMSNorm(x) - LayerNorm(x)‖² / ‖LayerNorm(x)‖² is mean(x)² / E x² = 1/d on average, for i.i.d. coordinates."""
    x = torch.randn(4000, width, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    rms, layer = (norms.builder(norms.resolve(kind))(width).double()(x) for kind in ("rms", "layer"))
    assert ((rms - layer).square().mean() / layer.square().mean()).item() * width == pytest.approx(1, abs=0.1)
