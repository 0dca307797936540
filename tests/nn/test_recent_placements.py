"""Placements of 2025 against the layers of transformers; rotary attention against Llama's and OLMo 2's."""

import math

import pytest
import torch
from torch import nn

from lnlab.nn.attention import attentions

torch.set_num_threads(1)


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
