"""Softmax attention against loops, and its masks."""

import math

import pytest
import torch

from lnlab.nn.attention import SoftmaxAttention


@pytest.fixture
def attention() -> torch.nn.Module:
    torch.manual_seed(0)
    return SoftmaxAttention(8, 2).double().eval()


@pytest.fixture
def tensors() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(2, 4, 8, generator=generator, dtype=torch.float64)
    memory = torch.randn(2, 5, 8, generator=generator, dtype=torch.float64)
    mask = torch.rand(2, 1, 4, 5, generator=generator) > 0.4
    mask[..., 0] = True
    return x, memory, mask


def test_attention_is_its_formula_query_by_query(attention, tensors):
    x, memory, mask = tensors
    found = attention(x, memory, mask)
    for b in range(2):
        q, k, v = (t.detach() for t in (attention.q(x[b]), attention.k(memory[b]), attention.v(memory[b])))
        for t in range(4):
            heads = []
            for h in (slice(0, 4), slice(4, 8)):
                scores = [math.exp(q[t, h] @ k[s, h] / math.sqrt(4)) if mask[b, 0, t, s] else 0.0 for s in range(5)]
                heads.append(sum(score * v[s, h] for s, score in enumerate(scores)) / sum(scores))
            torch.testing.assert_close(found[b, t], attention.o(torch.cat(heads)), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_query_that_may_attend_to_nothing_gathers_zeros_with_finite_gradients(attention, tensors, dtype):
    x, memory, mask = (t.clone() for t in tensors)
    mask[1, :, 2] = False
    attention = attention.to(dtype)
    out = attention(x.to(dtype).requires_grad_(), memory.to(dtype), mask)
    torch.testing.assert_close(out[1, 2], attention.o.bias)
    gradients = torch.autograd.grad(out.square().sum(), list(attention.parameters()))
    assert all(g.isfinite().all() for g in gradients)


def test_zero_queries_average_over_the_permitted_keys_alone(attention, tensors):
    x, memory, mask = tensors
    torch.nn.init.zeros_(attention.q.weight)
    torch.nn.init.zeros_(attention.q.bias)
    found = attention(x, memory, mask)
    weights = mask[:, 0].double()
    mean = (weights / weights.sum(-1, keepdim=True)) @ attention.v(memory)
    torch.testing.assert_close(found, attention.o(mean), rtol=1e-10, atol=1e-10)


def test_dropout_acts_in_training_alone(tensors):
    x, memory, mask = tensors
    attention = SoftmaxAttention(8, 2, dropout=0.5).double().eval()
    assert torch.equal(attention(x, memory, mask), attention(x, memory, mask))
    attention.train()
    assert not torch.equal(attention(x, memory, mask), attention(x, memory, mask))


def test_heads_must_divide_the_width():
    with pytest.raises(ValueError, match="width 8, which 3 heads"):
        SoftmaxAttention(8, 3)
