"""Products against the dense Hessian, by another way of differentiating: every model, placement, norm and attention."""

import pytest
import torch

from lnlab.curvature.dense import dense
from lnlab.curvature.hessian import hessian
from lnlab.nn.attention import attentions
from lnlab.nn.models import models
from lnlab.nn.norms import norms
from lnlab.nn.placements import placements
from lnlab.probes.probe import evaluating

SCALE = 1e-8
LARGE = {"encoder_decoder": {"layers": 1, "d_ff": 8}}
"""What it takes to have 400 to 800 parameters, where it is not three layers."""


def names(registry) -> list[str]:
    return sorted(entry.name for entry in registry)


def rows(size, number=3):
    return torch.randn(number, size, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def large(tiny, kind, placement):
    """A state of 400 to 800 parameters."""
    state = tiny(kind, placement, **LARGE.get(kind, {"layers": 3, "d_ff": 6}))
    assert 400 <= sum(p.numel() for p in state.model.parameters()) <= 800
    return state


def agree(state, exact):
    """Products along three directions at once, and along one."""
    loss, batches = state.task.loss, state.batches(2)
    with evaluating(state.model):
        operator = hessian(state.model, loss, batches, keep=True)
    v = rows(operator.size)
    expected = exact(state.model, loss, batches, along=v)
    allowed = SCALE * expected.abs().max()
    assert allowed > 1e-3 * SCALE
    assert (operator.matvec(v) - expected).abs().max() <= allowed
    assert (operator.matvec(v[0]) - expected[0]).abs().max() <= allowed
    return operator


def crossed():
    """Every model in every placement; in each run one model in each placement, in turns."""
    kinds, places = names(models), names(placements)
    return [
        pytest.param(kind, place, marks=() if (k - p) % len(kinds) == 0 else pytest.mark.nightly)
        for p, place in enumerate(places)
        for k, kind in enumerate(kinds)
    ]


@pytest.mark.parametrize(("kind", "placement"), crossed())
def test_every_model_in_every_placement(tiny, exact, kind, placement):
    assert 400 <= agree(large(tiny, kind, placement), exact).size <= 800


@pytest.mark.parametrize("norm", names(norms))
def test_every_norm(tiny, exact, norm):
    chosen = {"kind": "group", "groups": 2} if norm == "group" else norm
    agree(tiny("encoder", "pre", norm=chosen), exact)


@pytest.mark.parametrize("attention", names(attentions))
def test_every_attention(tiny, exact, attention):
    agree(tiny("encoder_decoder", "post", attention=attention), exact)


@pytest.mark.parametrize("tied", ["none", "target", "all"])
def test_tied_tables_are_one_tensor(tiny, exact, tied):
    state = tiny("encoder_decoder", "post", tied=tied)
    assert agree(state, exact).size == sum(p.numel() for p in state.model.parameters())


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=() if kind == "encoder" else pytest.mark.nightly) for kind in names(models)]
)
def test_the_whole_matrix_is_the_dense_hessian_and_symmetric(tiny, exact, kind):
    state = tiny(kind, "post")  # of fewer parameters: the product of each with all others is looked at
    loss, batches = state.task.loss, state.batches(2)
    operator = hessian(state.model, loss, batches, keep=True)
    found, expected = dense(operator.matvec, operator.size), exact(state.model, loss, batches)
    allowed = SCALE * expected.abs().max()
    assert (found - expected).abs().max() <= allowed
    assert (found - found.T).abs().max() <= allowed


def test_products_are_linear(tiny):
    state = tiny("encoder", "post")
    operator = hessian(state.model, state.task.loss, state.batches(2), keep=True)
    x, y = rows(operator.size, 2)
    expected = 2 * operator.matvec(x) - 3e4 * operator.matvec(y)
    torch.testing.assert_close(operator.matvec(2 * x - 3e4 * y), expected, rtol=1e-9, atol=1e-9)
    assert operator.matvec(0 * x).abs().max() == 0
