"""Placements against torch.nn's Transformer layers, and against their formulas."""

import pytest
import torch
from torch import nn

from lnlab.nn.masks import causal, padding
from lnlab.nn.parts import parts_of
from lnlab.nn.placements import LayerSpec, placements
from lnlab.nn.transformer import Layer, ModelShape

WIDTH, HEADS, D_FF = 12, 3, 20
PLACEMENTS = ["post", "pre"]


def layer(setting, placement: str, *, cross: bool) -> Layer:
    """One layer with random weights, biases and norms, in float64."""
    torch.manual_seed(0)
    parts = parts_of(setting(placement)["decoder"] | {"cross_attention": cross})
    at = LayerSpec("decoder", 1, 1, None, 3 if cross else 2, WIDTH, lambda: parts.norm(WIDTH))
    made = Layer(at, parts, ModelShape(size=1, width=at.width, heads=HEADS, d_ff=D_FF)).double()
    for p in made.parameters():
        nn.init.normal_(p, std=0.4)
    return made


def copied(mine: Layer, theirs: nn.Module) -> nn.Module:
    """torch.nn's layer with the weights of mine."""
    theirs = theirs.double()
    attentions = {"self_attn": mine.self_attention, "multihead_attn": mine.cross_attention}
    with torch.no_grad():
        for name, source in attentions.items():
            if source is not None:
                target = getattr(theirs, name)
                target.in_proj_weight.copy_(torch.cat([source.q.weight, source.k.weight, source.v.weight]))
                target.in_proj_bias.copy_(torch.cat([source.q.bias, source.k.bias, source.v.bias]))
                target.out_proj.load_state_dict(source.o.state_dict())
    theirs.linear1.load_state_dict(mine.feed_forward.w1.state_dict())
    theirs.linear2.load_state_dict(mine.feed_forward.w2.state_dict())
    for i, norm in enumerate(mine.placement.norms, 1):
        getattr(theirs, f"norm{i}").load_state_dict(norm.state_dict())
    return theirs


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_encoder_layer_equals_torchs(setting, batch, placement):
    mine = layer(setting, placement, cross=False)
    kind = nn.TransformerEncoderLayer(WIDTH, HEADS, D_FF, dropout=0.0, batch_first=True, norm_first=placement == "pre")
    x = torch.randn(*batch.source.shape, WIDTH, dtype=torch.float64)
    theirs = copied(mine, kind)(x, src_key_padding_mask=batch.source == 0)
    torch.testing.assert_close(mine(x, padding(batch.source)), theirs, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_decoder_layer_equals_torchs(setting, batch, placement):
    mine = layer(setting, placement, cross=True)
    kind = nn.TransformerDecoderLayer(WIDTH, HEADS, D_FF, dropout=0.0, batch_first=True, norm_first=placement == "pre")
    x = torch.randn(*batch.target_in.shape, WIDTH, dtype=torch.float64)
    memory = torch.randn(*batch.source.shape, WIDTH, dtype=torch.float64)
    length = x.shape[1]
    theirs = copied(mine, kind)(
        x,
        memory,
        tgt_mask=torch.ones(length, length, dtype=torch.bool).triu(1),
        tgt_key_padding_mask=batch.target_in == 0,
        memory_key_padding_mask=batch.source == 0,
    )
    found = mine(x, causal(batch.target_in), memory, padding(batch.source))
    torch.testing.assert_close(found, theirs, rtol=1e-10, atol=1e-10)


def test_formulas_with_plain_functions():
    """With f(x) = 2x + 1, g(x) = x² and the norm n(x) = x / 10, by hand."""

    class Tenth(nn.Module):
        def forward(self, x):
            return x / 10

    at = LayerSpec("encoder", 1, 1, None, 2, 1, Tenth)
    f, g = (lambda x: 2 * x + 1), (lambda x: x * x)
    x = torch.tensor([3.0])
    post, pre = (placements[name].build(at)(x, f, g).item() for name in PLACEMENTS)
    assert post == pytest.approx((1.0 + 1.0**2) / 10)  # x1 = (3 + 7) / 10 = 1
    assert pre == pytest.approx(4.6 + 0.46**2)  # x1 = 3 + (2 * 0.3 + 1) = 4.6


def test_only_pre_needs_a_final_norm(setting, build):
    assert build(setting("post")).encoder.final_norm is None
    assert isinstance(build(setting("pre")).decoder.final_norm, nn.LayerNorm)
