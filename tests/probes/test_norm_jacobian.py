"""What norms do to gradients, against Jacobians by autograd in float64 and their closed form."""

import math

import pytest
import torch
from torch import nn

from lnlab.nn.sites import parameter_uses
from lnlab.probes.norm_jacobian import norm_jacobian, norm_modules, norm_quantities

WIDTH = 16


def jacobian(norm, x):
    return torch.autograd.functional.jacobian(norm, x)


def vectors(n=5, width=WIDTH):
    return 3 * torch.randn(n, width, dtype=torch.float64, generator=torch.Generator().manual_seed(0)) + 1


def closed_form(x, eps=0.0):
    """(I - 1 1ᵀ/d - y yᵀ/(d (σ² + ε))) / sqrt(σ² + ε)."""
    d = len(x)
    y = x - x.mean()
    size = y.square().mean() + eps
    return (torch.eye(d) - torch.ones(d, d) / d - torch.outer(y, y) / (d * size)) / size.sqrt()


@pytest.mark.parametrize("eps", [1e-12, 0.3])
def test_the_closed_form_is_the_jacobian_of_torchs_layer_norm(eps):
    norm = nn.LayerNorm(WIDTH, eps).double()
    for x in vectors():
        torch.testing.assert_close(jacobian(norm, x), closed_form(x, eps), rtol=1e-9, atol=1e-9)


def test_singular_values_are_1_over_sigma_twice_zero_and_with_an_epsilon_the_radial_one_eps_over_size_cubed():
    """d - 2 times; Frobenius norm sqrt(d - 2)/σ. Of an RMS norm, d - 1 times 1/rms and once zero."""
    for x in vectors():
        sigma, rms = x.std(correction=0), x.square().mean().sqrt()
        found = torch.linalg.svdvals(jacobian(nn.LayerNorm(WIDTH, 1e-14).double(), x))
        assert (found * sigma).tolist() == pytest.approx([1.0] * (WIDTH - 2) + [0.0] * 2, abs=1e-6)
        assert found.norm().item() == pytest.approx(math.sqrt(WIDTH - 2) / sigma.item())
        found = torch.linalg.svdvals(jacobian(nn.RMSNorm(WIDTH, 1e-14).double(), x))
        assert (found * rms).tolist() == pytest.approx([1.0] * (WIDTH - 1) + [0.0], abs=1e-6)
    x, eps = vectors()[0], 0.3
    size = (x.var(correction=0) + eps).item()
    found = torch.linalg.svdvals(jacobian(nn.LayerNorm(WIDTH, eps).double(), x))
    assert found[0].item() == pytest.approx(size**-0.5)
    assert found[-2].item() == pytest.approx(eps / size**1.5)


@pytest.mark.parametrize("placement", ["post", "pre"])
def test_values_are_those_of_explicit_jacobians_at_every_token(state, values, placement):
    """The gradient at a norm's output by a hook on its tensor, through the norm by the full Jacobian, in float64."""
    made = state(placement)
    with torch.no_grad():
        for site, p in parameter_uses(made.model):
            if site.tensor in ("scale", "shift"):
                p += torch.linspace(-0.5, 0.5, WIDTH)
    found = list(norm_jacobian(made, batches=2))
    name = ("decoder", 2, "cross_attention", "scale")
    norm = made.model.decoder.layers[1].placement.norms[1]
    given, returned, inputs = [], [], []
    for batch in made.batches(2):
        kept = []

        def keep(_module, x, y, kept=kept):
            y.retain_grad()
            kept.append((x[0], y))

        handle = norm.register_forward_hook(keep)
        with torch.enable_grad():
            made.task.loss(made.model, batch)[0].backward()
        handle.remove()
        ((x, y),) = kept
        exact = nn.LayerNorm(WIDTH, 1e-5).double()
        exact.load_state_dict(norm.state_dict())
        for b, t in (batch.target_in != 0).nonzero().tolist():
            token, g = x[b, t].detach().double(), y.grad[b, t].double()
            given.append((jacobian(exact, token).T @ g).norm())
            returned.append(g.norm())
            inputs.append(token)
    ratio, x = torch.stack(given) / torch.stack(returned), torch.stack(inputs)
    sigma, rms = x.std(-1, correction=0), x.norm(dim=-1) / math.sqrt(WIDTH)
    expected = {
        "norm_gradient_ratio": ratio.mean(),
        "norm_inverse_sigma": (1 / sigma).mean(),
        "norm_inverse_rms": (1 / rms).mean(),
        "norm_ratio_over_bound": (ratio * sigma).mean(),
        "norm_ratio_over_bound_max": (ratio * sigma).max(),
        "norm_growth_share": (ratio >= 1)[rms > 1].double().mean(),
    }
    for quantity, value in expected.items():
        assert values(found, quantity)[name] == pytest.approx(value.item(), rel=1e-4), quantity


@pytest.mark.parametrize("placement", ["post", "pre"])
def test_no_norm_of_scale_one_exceeds_1_over_sigma(state, values, placement):
    found = values(norm_jacobian(state(placement), batches=4), "norm_ratio_over_bound_max")
    assert len(found) == (10 if placement == "post" else 12)
    assert max(found.values()) <= 1 + 1e-5


def test_norms_have_the_addresses_of_their_scales_and_without_a_norm_gradients_pass_as_they_are(state, values):
    model = state("pre").model
    scales = {site: p for site, p in parameter_uses(model) if site.tensor == "scale"}
    assert {site: norm.weight for site, norm in norm_modules(model)}.keys() == scales.keys()
    assert all(norm.weight is scales[site] for site, norm in norm_modules(model))
    made = state("post", norm="none", cross_attention=False)
    found = values(norm_jacobian(made, batches=1), "norm_gradient_ratio")
    assert {site[0] for site in found} == {"decoder"}
    assert set(found.values()) == {1.0}
    assert list(norm_jacobian(state("rezero"), batches=1)) == []


def test_the_share_of_growing_gradients_is_of_tokens_above_root_d():
    x = torch.tensor([[2.0, -2], [0.1, -0.1], [3, 3.5]], dtype=torch.float64)
    found = norm_quantities(torch.tensor([1.0, 5.0, 0.5]), torch.ones(3), x)
    assert found["norm_growth_share"] == 0.5
    assert "norm_growth_share" not in norm_quantities(torch.ones(1), torch.ones(1), x[1:2])
    assert norm_quantities(torch.ones(0), torch.ones(0), x[:0]) == {}
