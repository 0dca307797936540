"""Sizes against the model itself on the meta device."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from lnlab.compile.cost.cost import LENGTH
from lnlab.nn.models import models

VARIANTS = {
    "post": {},
    "pre": {"placement": "pre", "layers": 3},
    "untied": {"tied": "none", "width": 32, "d_ff": 32},
    "all tied, rms": {"tied": "all", "norm": {"kind": "rms", "eps": 1e-6}},
    "no norm": {"placement": "pre", "norm": {"kind": "none"}},
    "no cross-attention": {"cross_attention": False},
    "group norm": {"encoder": {"norm": {"kind": "group", "groups": 4, "eps": 1e-5}}},
    "batch norm": {"encoder": {"norm": {"kind": "batch", "eps": 1e-5, "momentum": 0.1, "naive": False}}},
    "scale norm": {"placement": "sandwich", "norm": "scale", "layers": 3},
    "dyt": {"placement": "pre", "norm": "dyt"},
    "layerscale": {"placement": "layerscale", "layers": 3},
    "admin": {"placement": "admin", "layers": 3},
    "rezero": {"placement": "rezero", "layers": 3},
    "plain": {"placement": "plain", "layers": 3},
    "deepnorm": {"placement": "deepnorm", "layers": 3},
    "b2t": {"placement": "b2t"},
    "mix, one layer": {"placement": {"kind": "mix", "share": 0.5}, "layers": 1},
    "mix, a part": {"placement": {"kind": "mix", "share": 0.9}, "layers": 4},
    "mix, all post": {"placement": {"kind": "mix", "share": 1.0}, "layers": 4},
    "qk norm": {"attention": "qk_norm"},
    "qk layer norm": {"attention": "qk_layer_norm", "layers": 3},
    "sigma": {"linear": "sigma_reparam", "layers": 3},
    "sigma, qk norm": {"linear": "sigma_reparam", "attention": "qk_norm"},
    "fix norm": {"fix_norm": True, "tied": "none"},
    "fixup": {"placement": "fixup", "layers": 3},
    "swiglu": {"feed_forward": "swiglu", "layers": 3},
    "no biases": {"linear": {"kind": "plain", "bias": False}},
    "stacks differ": {"encoder": {"layers": 5, "placement": {"kind": "pre"}}},
}


@pytest.fixture(params=VARIANTS.values(), ids=VARIANTS.keys())
def case(request, setting, build):
    """A setting and its model on the meta device."""
    chosen = setting(**request.param)
    with torch.device("meta"):
        return chosen, build(chosen)


def flops(model, batch, length: int) -> float:
    """What torch counts, per target token, with sentences of this length."""
    tokens = torch.ones(4, length, dtype=torch.int64, device="meta")
    with FlopCounterMode(display=False) as counter:
        model(type(batch)(tokens, tokens))
    return counter.get_total_flops() / tokens.numel()


def test_parameters_are_counted_exactly_and_flops_as_torch_counts_them(case, batch):
    chosen, model = case
    counted, _ = models["encoder_decoder"].facts.size(chosen)
    assert counted == sum(p.numel() for p in model.parameters())
    chosen, model = case
    _, counted = models["encoder_decoder"].facts.size(chosen)
    assert counted == pytest.approx(flops(model, batch, LENGTH), rel=1e-9)


@pytest.mark.parametrize("length", [LENGTH // 2, 2 * LENGTH])
def test_flops_are_within_five_percent_at_other_lengths(setting, build, batch, length):
    chosen = setting(width=128, d_ff=256, heads=4, rows=1000)
    with torch.device("meta"):
        model = build(chosen)
    _, counted = models["encoder_decoder"].facts.size(chosen)
    assert counted == pytest.approx(flops(model, batch, length), rel=0.05)
