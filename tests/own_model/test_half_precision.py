"""Sums over batches do not stand still in bfloat16 or float16: equal batches have the gradient of one."""

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

import lnlab
from lnlab.probes.support.loss_gradients import accumulator

X, Y = torch.randn(16, 5, generator=torch.Generator().manual_seed(2)), torch.arange(16) % 3


def model(dtype):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(5, 6), nn.Tanh(), nn.Linear(6, 3)).to(dtype)


def loss(m, batch):
    return cross_entropy(m(batch[0].to(m[0].weight.dtype)).float(), batch[1])


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("number", [300, 600])
def test_equal_batches_have_the_gradient_of_one_and_no_noise(dtype, number):
    def measured(n):
        probes = [{"kind": "gradient_norm", "batches": n, "biases": True}, {"kind": "gradient_histogram", "batches": n}]
        return lnlab.measure(model(dtype), [(X, Y)] * n, loss, probes=probes)

    one, many = measured(1), measured(number)
    for quantity in ("gradient_norm", "gradient_norm_mean", "gradient_rms"):
        expected = one.frame(quantity)["value"].to_list()
        assert many.frame(quantity)["value"].to_list() == pytest.approx(expected, rel=1e-5)
    assert many.frame("gradient_noise_share")["value"].to_list() == pytest.approx([0.0] * 4, abs=1e-4)
    shown = [m.frame("gradient_histogram").select("left", "right", "count") for m in (one, many)]
    assert shown[0].equals(shown[1])


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_norms_of_halves_are_those_of_the_same_numbers_in_float64(dtype):
    own = model(dtype)
    m = lnlab.measure(own, [(X, Y)], loss)
    own.eval()
    gradients = torch.autograd.grad(loss(own, (X, Y)), [own[0].weight, own[2].weight])
    expected = [g.double().norm().item() for g in gradients]
    assert m.frame("gradient_norm")["value"].to_list() == pytest.approx(expected, rel=1e-6)


def test_a_sum_is_never_less_precise_than_its_terms():
    for dtype, expected in ((torch.bfloat16, torch.float32), (torch.float32,) * 2, (torch.float64,) * 2):
        assert accumulator(torch.ones(2, dtype=dtype, requires_grad=True)).dtype is expected
