"""The feed-forward network against torch.nn's parts, and the variance it adds."""

import pytest
import torch
from torch import nn

import lnlab
from lnlab.errors import SpecError
from lnlab.nn.feedforward import FeedForward, feed_forwards
from lnlab.nn.sites import parameter_uses


def test_feed_forward_is_two_linear_maps_around_a_relu_that_halves_the_squared_norm():
    mine = FeedForward(6, 10).double()
    theirs = nn.Sequential(mine.w1, nn.ReLU(), mine.w2)
    x = torch.randn(3, 4, 6, dtype=torch.float64)
    torch.testing.assert_close(mine(x), theirs(x))
    # Xiong et al. (2020), Lemma 1: E‖ReLU(X)‖² = σ² d / 2.
    x = 3.0 * torch.randn(2000, 64, generator=torch.Generator().manual_seed(0))
    assert torch.relu(x).square().sum(-1).mean().item() == pytest.approx(9 * 64 / 2, rel=0.02)


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


def chosen(choice, *sizes):
    network = feed_forwards.builder(feed_forwards.resolve(choice))(*sizes, lambda i, o: nn.Linear(i, o, bias=False))
    return network.double()


def test_swiglu_is_the_network_of_llama():
    llama = pytest.importorskip("transformers.models.llama.modeling_llama")
    config = llama.LlamaConfig(hidden_size=12, intermediate_size=32, num_attention_heads=2, vocab_size=11)
    theirs, ours = llama.LlamaMLP(config).double(), chosen("swiglu", 12, 32)
    for mine, name in ((ours.w1, "up_proj"), (ours.w3, "gate_proj"), (ours.w2, "down_proj")):
        mine.weight.data = theirs.get_parameter(f"{name}.weight").data
    x = torch.randn(2, 5, 12, dtype=torch.float64)
    torch.testing.assert_close(ours(x), theirs(x), rtol=0, atol=1e-12)


@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_gelu_is_the_input_times_the_normal_distribution_or_gpt_2s_form_of_it(approximate):
    ours = chosen({"kind": "gelu", "approximate": approximate}, 3, 4)
    x = torch.linspace(-3, 3, 6, dtype=torch.float64).view(2, 3)
    h = x @ ours.w1.weight.T
    forms = {
        "none": h * torch.distributions.Normal(0.0, 1.0).cdf(h),
        "tanh": h * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (h + 0.044715 * h**3))) / 2,
    }
    torch.testing.assert_close(ours(x), forms[approximate] @ ours.w2.weight.T)


def test_a_model_has_the_network_that_is_chosen_and_addresses_for_its_matrices(setting, build):
    model = build(setting(feed_forward="swiglu", linear={"kind": "plain", "bias": False}))
    sites = {site.tensor for site, _ in parameter_uses(model) if site.sublayer == "feed_forward"}
    assert sites == {"w1", "w2", "w3", "scale", "shift"}
    assert all(layer.feed_forward.w3.weight.std() > 0 for layer in model.decoder.layers)


@pytest.mark.parametrize("init", ["fixup", "dt_fixup"])
def test_a_law_for_two_matrices_is_refused_for_three(init):
    spec = {
        "task": {"kind": "random_tokens", "vocabulary": 20, "sentences": 2, "length": 4},
        "model": {
            "kind": "encoder_decoder",
            "layers": 1,
            "d_model": 8,
            "heads": 2,
            "d_ff": 8,
            "tied": "none",
            "feed_forward": "swiglu",
        },
        "placement": "pre",
        "norm": "none",
        "init": init,
        "probes": [{"kind": "gradient_norm"}],
    }
    with pytest.raises(SpecError) as caught:
        lnlab.check({"lnlab": 2, "title": "One?"} | spec)
    assert "two matrices" in str(caught.value)
