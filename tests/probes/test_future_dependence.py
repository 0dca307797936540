"""What depends on later tokens: nothing in a causal stack, and all where a norm reads a sentence's whole matrix."""

import copy
from math import sqrt

import pytest
import torch

from lnlab.probes.batch_dependence import single_sentence
from lnlab.probes.future_dependence import future_dependence


class MatrixNorm(torch.nn.Module):
    """The tutorial's equation, written out."""

    def __init__(self, norm):
        super().__init__()
        self.norm = norm

    def forward(self, x):
        mean = x.sum((1, 2), keepdim=True) / x[0].numel()
        variance = (x - mean).pow(2).sum((1, 2), keepdim=True) / x[0].numel()
        return (x - mean) / (variance + self.norm.eps).sqrt() * self.norm.weight + self.norm.bias


def replaced(module):
    for name, child in module.named_children():
        if isinstance(child, torch.nn.LayerNorm):
            setattr(module, name, MatrixNorm(child))
        else:
            replaced(child)
    return module


def measure(state, **options):
    return {row["quantity"]: row["value"] for row in future_dependence(state, **options)}


@pytest.mark.parametrize("placement", ["post", "pre", "sandwich"])
def test_a_causal_stack_answers_from_what_came_before(state, placement):
    assert measure(state(placement), batches=2)["future_dependence"] < 1e-12


@pytest.mark.parametrize("placement", ["post", "pre"])
def test_statistics_of_a_sentences_matrix_read_the_future(state, placement):
    """The oracle is a copy in float64 with other modules, whose answers are cut and compared by hand."""
    at_init = state(placement)
    with torch.no_grad():  # scale and shift are no longer 1 and 0
        for name, parameter in at_init.model.named_parameters():
            if "norm" in name:
                parameter.add_(0.1 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(len(name))))
    model, (batch,) = replaced(copy.deepcopy(at_init.model)).double().eval(), at_init.batches(1)
    moved = size = 0.0
    with torch.no_grad():
        for row in range(len(batch.source)):
            whole = single_sentence(batch, row)
            half = -(-whole.target_in.shape[1] // 2)
            full = model(whole)[0, :half]
            early = model(type(whole)(whole.source, whole.target_in[:, :half], whole.target_out))[0]
            moved, size = moved + (full - early).norm().item() ** 2, size + full.norm().item() ** 2
    values = measure(at_init)
    assert values["future_dependence_of_matrix_norm"] == pytest.approx(sqrt(moved / size), rel=1e-10)
    assert values["future_dependence_of_matrix_norm"] > 1e-3


def test_the_model_has_its_own_norms_again_and_without_layer_norms_both_are_the_same(state):
    at_init = state("post")
    first = measure(at_init)
    assert measure(at_init) == first
    assert not any(module._forward_hooks for module in at_init.model.modules())
    values = measure(state("pre", norm="rms"))
    assert values["future_dependence_of_matrix_norm"] == values["future_dependence"] < 1e-12
