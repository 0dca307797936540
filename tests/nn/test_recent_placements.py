"""Placements of 2025 by hand and against the layers of transformers; rotary attention against Llama's and OLMo 2's."""

import math

import pytest
import torch
from torch import nn

from lnlab.nn.attention import attentions
from lnlab.nn.placements import LayerSpec, placements

torch.set_num_threads(1)


class Tenth(nn.Module):
    def forward(self, x):
        return x / 10


def f(x):
    return 2 * x + 1


def g(x):
    return x * x


def n(x):
    return x / 10


def value(kind, layer=1, **given):
    at = LayerSpec("decoder", layer, 6, None, 2, 1, Tenth)
    return placements.builder(placements.resolve({"kind": kind} | given))(at)(torch.tensor([3.0]), f, g).item()


@pytest.mark.parametrize("layer", [1, 3])
def test_layernorm_scaling_divides_every_norm_by_the_root_of_the_layer(layer):
    x = 3 + f(n(3) / math.sqrt(layer))
    assert value("scaled_pre", layer) == pytest.approx(x + g(n(x) / math.sqrt(layer)))


def test_the_reordered_norm_stands_behind_the_branch_and_hybrid_is_post_ln_without_its_second_norm():
    x = 3 + n(f(3))
    assert value("reordered") == pytest.approx(x + n(g(x)))
    x = n(3 + f(3))
    assert value("hybrid") == pytest.approx(x + g(x))
    assert value("hybrid", first="pre") == value("pre")
    assert value("hybrid", layer=2, first="pre") == value("hybrid")


def attention(width=16, heads=4, **given):
    torch.manual_seed(0)
    module = attentions.builder(attentions.resolve({"kind": "rotary", **given}))(
        width, heads, lambda fan_in, fan_out: nn.Linear(fan_in, fan_out, bias=False)
    )
    for p in module.parameters():
        p.data = torch.randn(p.shape, generator=torch.Generator().manual_seed(p.numel())) * 0.5
    return module


def theirs(kind, ours, heads, kv_heads, eps=1e-6):
    """The attention of a library with the same weights, and a causal answer to an input."""
    transformers = pytest.importorskip("transformers")
    width = ours.q.weight.shape[1]
    config = getattr(transformers, f"{kind}Config")(
        hidden_size=width,
        num_attention_heads=heads,
        num_key_value_heads=kv_heads,
        rms_norm_eps=eps,
        intermediate_size=32,
        num_hidden_layers=1,
        vocab_size=11,
        attn_implementation="eager",
    )
    model = getattr(transformers, f"{kind}Model")(config)
    layer = model.layers[0].self_attn
    pairs = {"q_proj": "q", "k_proj": "k", "v_proj": "v", "o_proj": "o"}
    for name, word in pairs.items():
        getattr(layer, name).weight.data = getattr(ours, word).weight.data.clone()
    for name in ("q_norm", "k_norm"):
        if hasattr(layer, name):
            getattr(layer, name).weight.data = ours.norms[name[0]].weight.data.clone()

    def answer(x):
        positions = torch.arange(x.shape[1])[None]
        mask = torch.full((x.shape[1], x.shape[1]), -math.inf).triu(1)[None, None]
        return layer(x, position_embeddings=model.rotary_emb(x, positions), attention_mask=mask)[0]

    return answer


@pytest.mark.parametrize(
    ("kind", "given", "kv_heads"),
    [
        ("Llama", {}, 4),
        ("Llama", {"kv_heads": 2}, 2),
        ("Llama", {"kv_heads": 1}, 1),
        ("Olmo2", {"norm": "qk_width"}, 4),
    ],
)
def test_rotary_attention_is_that_of_the_library(kind, given, kv_heads):
    ours = attention(**given)
    x = torch.randn(2, 7, 16, generator=torch.Generator().manual_seed(5))
    causal = torch.ones(7, 7, dtype=torch.bool).tril()
    torch.testing.assert_close(ours(x, x, causal), theirs(kind, ours, 4, kv_heads)(x), rtol=1e-5, atol=1e-5)


def test_a_product_depends_on_the_distance_alone():
    ours = attention()
    x = torch.randn(1, 1, 16).expand(1, 9, 16)  # the same token everywhere
    logits = ours.logits(x, x)[0, 0]
    for distance in range(-8, 9):
        diagonal = logits.diagonal(distance)
        torch.testing.assert_close(diagonal, diagonal[:1].expand_as(diagonal), rtol=1e-4, atol=1e-5)


def test_norms_of_queries_and_keys_bound_the_logits_and_values_are_normed_too_where_asked():
    ours = attention(norm="qk_heads")
    for name in "qk":
        ours.norms[name].weight.data.fill_(1.0)
    x = 1e3 * torch.randn(2, 7, 16)
    assert float(ours.logits(x, x).abs().max()) <= math.sqrt(4) * (1 + 1e-5)
    ours = attention(norm="qkv_heads", base=None)
    x = torch.randn(1, 3, 16)
    grown = ours(x, x, torch.ones(3, 3, dtype=torch.bool))
    ours.v.weight.data *= 50
    torch.testing.assert_close(ours(x, x, torch.ones(3, 3, dtype=torch.bool)), grown, rtol=1e-3, atol=1e-3)
