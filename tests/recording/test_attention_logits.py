"""Largest logit and entropy of attention, by the softmax written out."""

import polars as pl
import pytest
import torch
from torch import nn

import lnlab
from lnlab.errors import LabError


def by_hand(q, k, allowed):
    logits = (q.double() @ k.double().transpose(-1, -2)) / q.shape[-1] ** 0.5
    logits = logits.masked_fill(~allowed, -torch.inf)
    p = logits.softmax(-1)
    entropy = -torch.where(p > 0, p * p.log(), 0.0).sum(-1)
    return logits.amax((0, 2, 3)), entropy.mean((0, 2))


def test_logits_entropy_first_key_and_norms_of_a_nano_gpt(small, some_batches):
    torch.manual_seed(1)
    model = small.NanoGPT()
    kept = {}
    for number, block in enumerate(model.blocks, 1):
        block.attn.qkv.register_forward_hook(lambda _m, _x, y, n=number: kept.setdefault(n, y.detach()))
    (batch,) = some_batches(3, 1)
    model.eval()(batch[:, :-1])
    probes = ["attention_logits", "attention_sink"]
    m = lnlab.measure(model, [batch], small.token_loss, probes=probes, sites=small.NANO_SITES)
    assert m.frame("attention_logits")["tensor"].unique().to_list() == ["logits"]
    for layer, y in kept.items():
        q, k, v = (t.unflatten(-1, (2, -1)).transpose(1, 2).double() for t in y.chunk(3, -1))
        allowed = torch.ones(q.shape[-2], q.shape[-2], dtype=torch.bool).tril()
        logits = (q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5).masked_fill(~allowed, -torch.inf)
        expected = dict(zip(("attention_logit_max", "attention_entropy"), by_hand(q, k, allowed), strict=True))
        expected |= {"first_key_share": logits.softmax(-1)[..., 0].mean((0, 2))}
        expected |= {f"{n}_norm": x.norm(dim=-1).mean((0, 2)) for n, x in (("query", q), ("key", k), ("value", v))}
        for quantity, values in expected.items():
            at = m.frame(quantity).filter(pl.col("layer") == layer, pl.col("sublayer") == "self_attention")
            assert at.sort("index")["value"].to_list() == pytest.approx(values.tolist(), rel=1e-5), quantity


@pytest.mark.parametrize("mask", ["none", "bool", "float", "gqa"])
def test_masks_and_grouped_queries(mask):
    generator = torch.Generator().manual_seed(0)
    q = torch.randn(2, 4, 5, 8, generator=generator)
    k = torch.randn(2, 2 if mask == "gqa" else 4, 5, 8, generator=generator)
    allowed = torch.rand(5, 5, generator=generator) > 0.4
    allowed[:, 0] = True
    given = {
        "none": {},
        "bool": {"attn_mask": allowed},
        "float": {"attn_mask": torch.zeros(5, 5).masked_fill(~allowed, -torch.inf)},
        "gqa": {"enable_gqa": True},
    }[mask]

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(1))

        def forward(self, x):
            return nn.functional.scaled_dot_product_attention(self.weight * x, k, k, **given)

    m = lnlab.measure(Model(), [q], lambda f, x: f(x).square().mean(), probes=["attention_logits"])
    full = torch.ones(5, 5, dtype=torch.bool) if mask in ("none", "gqa") else allowed
    keys = k.repeat_interleave(2, 1) if mask == "gqa" else k
    largest, entropy = by_hand(q, keys, full)
    for quantity, values in (("attention_logit_max", largest), ("attention_entropy", entropy)):
        assert m.frame(quantity).sort("index")["value"].to_list() == pytest.approx(values.tolist(), rel=1e-5)


class SeesItself(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1))

    def forward(self, x):
        q = self.weight * x
        return nn.functional.scaled_dot_product_attention(query=q, key=x, value=x)


@pytest.mark.parametrize("heads", [None, 2])
def test_queries_of_padding_are_left_out(heads):
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(*((2, 5, 8) if heads is None else (2, heads, 5, 8)), generator=generator)
    x[..., 3:, :] *= 100  # would win every maximum
    tokens = (torch.arange(5) < 3).expand(2, 5)
    given = {"probes": ["attention_logits"], "mask": lambda _: tokens}
    m = lnlab.measure(SeesItself(), [x], lambda f, x: f(x).square().mean(), **given)
    full = x if heads else x[:, None]
    largest, entropy = by_hand(full[..., :3, :], full, torch.ones(3, 5, dtype=torch.bool))
    for quantity, values in (("attention_logit_max", largest), ("attention_entropy", entropy)):
        assert m.frame(quantity).sort("index")["value"].to_list() == pytest.approx(values.tolist(), rel=1e-5)


def test_a_mask_that_is_none_for_the_queries_is_refused(golden):
    given = {"probes": ["attention_logits"], "mask": lambda _: torch.ones(2, 4, dtype=torch.bool)}
    with golden.raises(LabError):
        lnlab.measure(SeesItself(), [torch.ones(2, 3, 5, 8)], lambda f, x: f(x).square().mean(), **given)


def test_attention_that_cannot_be_seen_is_refused():
    class Own(nn.Module):
        def __init__(self):
            super().__init__()
            self.q = nn.Linear(4, 4)

        def forward(self, x):
            return (self.q(x) @ x.transpose(1, 2)).softmax(-1) @ x

    with pytest.raises(LabError, match="never calls scaled_dot_product_attention"):
        lnlab.measure(Own(), [torch.ones(2, 3, 4)], lambda f, x: f(x).square().mean(), probes=["attention_logits"])


@pytest.mark.filterwarnings("ignore")
def test_gpt2_is_as_its_eager_attention_says():
    transformers = pytest.importorskip("transformers")
    config = transformers.GPT2Config(vocab_size=13, n_positions=8, n_embd=8, n_layer=2, n_head=2, attn_pdrop=0.0)
    torch.manual_seed(0)
    model = transformers.GPT2LMHeadModel(config).eval()
    tokens = torch.arange(12).reshape(2, 6) % 13
    m = lnlab.measure(model, [tokens], lambda f, x: f(x, labels=x).loss, probes=["attention_logits"])
    model.set_attn_implementation("eager")
    attentions = model(tokens, output_attentions=True).attentions
    for layer, p in enumerate(attentions, 1):
        entropy = -torch.where(p > 0, p * p.log(), 0.0).sum(-1).mean((0, 2))
        rows = m.frame("attention_entropy").filter(pl.col("layer") == layer).sort("index")
        assert rows["value"].to_list() == pytest.approx(entropy.tolist(), rel=1e-4)
