"""Normed queries and keys against loops over heads, and the bound on the logits."""

import math

import pytest
import torch

from lnlab.nn.qk_norm import QKLayerNormAttention, QKNormAttention

HEADS = (slice(0, 4), slice(4, 8))


@pytest.fixture
def tensors():
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(2, 4, 8, generator=generator, dtype=torch.float64)
    memory = torch.randn(2, 5, 8, generator=generator, dtype=torch.float64)
    mask = torch.rand(2, 1, 4, 5, generator=generator) > 0.4
    mask[..., 0] = True
    return x, memory, mask


def cosine(attention, q, k):
    return attention.logit_gain * (q @ k) / (q.norm() * k.norm())


def standardized(attention, q, k):
    """LayerNorm by hand, then the usual scale."""
    ready = []
    for t, norm in ((q, attention.norms["q"]), (k, attention.norms["k"])):
        ready.append((t - t.mean()) / (t.var(correction=0) + 1e-6).sqrt() * norm.weight + norm.bias)
    return ready[0] @ ready[1] / math.sqrt(4)


@pytest.mark.parametrize(("kind", "logit"), [(QKNormAttention, cosine), (QKLayerNormAttention, standardized)])
def test_attention_is_its_formula_query_by_query(kind, logit, tensors):
    torch.manual_seed(0)
    attention = kind(8, 2).double().eval()
    for p in attention.parameters():
        torch.nn.init.normal_(p)
    x, memory, mask = tensors
    with torch.no_grad():
        found = attention(x, memory, mask)
        for b in range(2):
            q, k, v = attention.q(x[b]), attention.k(memory[b]), attention.v(memory[b])
            for t in range(4):
                heads = []
                for h in HEADS:
                    seen = [s for s in range(5) if mask[b, 0, t, s]]
                    weights = torch.stack([logit(attention, q[t, h], k[s, h]) for s in seen]).softmax(0)
                    heads.append(sum(w * v[s, h] for w, s in zip(weights, seen, strict=True)))
                torch.testing.assert_close(found[b, t], attention.o(torch.cat(heads)), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("length", [2, 20, 100])
def test_the_gain_begins_as_the_paper_has_it(length):
    assert QKNormAttention(8, 2, length=length).logit_gain.item() == pytest.approx(math.log2(length**2 - length))


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_no_logit_exceeds_the_gain_however_large_the_weights(tensors, size):
    attention = QKNormAttention(8, 2).double()
    with torch.no_grad():
        attention.q.weight.mul_(size)
        attention.k.weight.mul_(size)
        q, k = attention.ready(attention.in_heads("q", tensors[0]), attention.in_heads("k", tensors[1]))
    assert (q @ k.mT).abs().max() <= attention.logit_gain.item() * (1 + 1e-12)


def test_queries_of_zero_have_finite_gradients(tensors):
    attention = QKNormAttention(8, 2).double()
    for p in (attention.q.weight, attention.q.bias, attention.k.weight, attention.k.bias):
        torch.nn.init.zeros_(p)
    out = attention(*tensors)
    assert all(g.isfinite().all() for g in torch.autograd.grad(out.square().sum(), list(attention.parameters())))
