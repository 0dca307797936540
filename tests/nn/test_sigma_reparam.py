"""The sigma reparametrization: spectral norms, what a step of training moves, and what it leaves as it was."""

import pytest
import torch
from torch.nn.utils.parametrizations import spectral_norm

from lnlab.nn.attention import attentions
from lnlab.nn.sigma_reparam import SigmaLinear
from lnlab.nn.sites import parameter_uses


def made(start: str = "sigma") -> SigmaLinear:
    torch.manual_seed(0)
    layer = SigmaLinear(6, 9, start=start).double()
    layer.post_init()
    return layer.eval()


def effective(layer: SigmaLinear) -> torch.Tensor:
    """The matrix that the layer applies."""
    return (layer(torch.eye(6, dtype=torch.float64)) - layer.bias).T


def test_at_first_the_model_is_the_one_without_and_with_a_gain_of_one_every_spectral_norm_is_one(setting, build, batch):
    plain, sigma = (build(setting(linear=kind)) for kind in ("plain", "sigma_reparam"))
    torch.testing.assert_close(plain(batch), sigma(batch), rtol=1e-4, atol=1e-5)
    model = build(setting(linear={"kind": "sigma_reparam", "start": "one"}))
    linears = [module for module in model.modules() if isinstance(module, SigmaLinear)]
    assert len(linears) == 2 * (4 + 2) + 2 * (4 + 4 + 2)
    for linear in linears:
        applied = linear(torch.eye(linear.in_features)) - linear.bias
        assert torch.linalg.matrix_norm(applied, 2).item() == pytest.approx(1.0, rel=1e-5)
    sites = [site for site, _ in parameter_uses(build(setting(layers=1, linear="sigma_reparam")))]
    gains = [(s.sublayer, s.tensor) for s in sites if s.stack == "decoder" and "gain" in s.tensor]
    attentions = [(name, f"gain_{word}") for name in ("self_attention", "cross_attention") for word in "qkvo"]
    assert gains == [*attentions, ("feed_forward", "gain_w1"), ("feed_forward", "gain_w2")]


def test_the_gain_is_the_spectral_norm_whatever_the_weight_and_gradients_are_torchs_times_it():
    layer = made()
    before = effective(layer)
    with torch.no_grad():
        layer.weight.mul_(7.0)
    torch.testing.assert_close(effective(layer), before)
    with torch.no_grad():
        layer.gain.fill_(0.3)
    assert torch.linalg.matrix_norm(effective(layer), 2).item() == pytest.approx(0.3)
    layer, x = made("one"), torch.randn(4, 6, dtype=torch.float64)
    theirs = torch.nn.Linear(6, 9).double()
    theirs.load_state_dict({"weight": layer.weight, "bias": layer.bias})
    theirs = spectral_norm(theirs, n_power_iterations=100).eval()
    mine = torch.autograd.grad(layer(x).square().sum(), layer.weight)[0]
    torch.testing.assert_close(
        mine, torch.autograd.grad(theirs(x).square().sum(), theirs.parametrizations.weight.original)[0]
    )


def test_training_follows_the_singular_vector_and_evaluation_forgets():
    layer = made()
    with torch.no_grad():
        layer.weight.add_(0.5 * torch.randn(9, 6, dtype=torch.float64))
    kept = layer.u.clone()
    layer(torch.ones(1, 6, dtype=torch.float64))
    assert torch.equal(layer.u, kept)
    layer.train()
    for _ in range(200):
        layer(torch.ones(1, 6, dtype=torch.float64))
    assert layer.sigma().item() == pytest.approx(torch.linalg.matrix_norm(layer.weight, 2).item(), rel=1e-6)


def test_the_vectors_are_constants_to_the_gradient_also_where_they_lag_behind():
    """d sigma / dV = v uᵀ with the vectors after one more step, though V has moved and they are no singular vectors."""
    layer = made()
    with torch.no_grad():
        layer.weight.add_(torch.randn(9, 6, dtype=torch.float64))
        v = torch.nn.functional.normalize(layer.weight @ layer.u, dim=0)
        u = torch.nn.functional.normalize(layer.weight.T @ v, dim=0)
    (found,) = torch.autograd.grad(layer.sigma(), layer.weight)
    torch.testing.assert_close(found, torch.outer(v, u))


@pytest.mark.parametrize("attention", [entry.name for entry in attentions])
def test_every_attention_takes_its_matrices_from_the_linear_map(setting, build, attention):
    model = build(setting(layers=1, attention=attention, linear="sigma_reparam"))
    for word in "qkvo":
        assert isinstance(getattr(model.decoder.layers[0].cross_attention, word), SigmaLinear)
