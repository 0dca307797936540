"""Tiny models of every kind on random tokens, and their Hessians by torch's own ways."""

import warnings

import pytest
import torch
from torch.func import functional_call, grad, jvp
from torch.nn.attention import SDPBackend, sdpa_kernel

from lnlab.catalogue import REGISTRIES
from lnlab.compile.resolve.resolve import resolve_setting
from lnlab.probes.probe import evaluating
from tests.support.pieces import state_of

torch.set_num_threads(1)


def make_state(
    kind="encoder_decoder", placement="post", *, norm="layer", attention="softmax", length=3, width=4, **model
):
    """A state of some 300 to 500 parameters in float64, every parameter random."""
    task = {"kind": "random_tokens", "vocabulary": 9, "sentences": 2, "length": length, "law": "uniform"}
    task |= {"classes": 3} if kind.endswith("classifier") else {}
    layers = model.pop("layers", 1 if kind == "encoder_decoder" else 2)
    init = model.pop("init", "xavier_normal")
    shape = {"kind": kind, "layers": layers, "d_model": width, "heads": 2, "d_ff": 4} | model
    choices = {"task": task, "placement": placement, "norm": norm, "attention": attention, "model": shape, "init": init}
    state = state_of(resolve_setting(choices, REGISTRIES))
    state.model.double()
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():  # scales, shifts and gates away from 0 and 1, where derivatives vanish by symmetry
        for p in state.model.parameters():
            p.add_(0.3 * torch.randn(p.shape, generator=generator, dtype=p.dtype))
    return state


class Mean(torch.nn.Module):
    """The mean loss over batches."""

    def __init__(self, model, loss, batches):
        super().__init__()
        self.model, self.loss, self.batches = model, loss, batches

    def forward(self):
        losses = [self.loss(self.model, batch) for batch in self.batches]
        return sum(total for total, _ in losses) / sum(count for _, count in losses)


def hessian_by_torch(model, loss, batches, parameters=None, *, along=None):
    """The Hessian of the mean loss by torch's loop over its rows; or its products ``along`` rows, forward over reverse.

    Not by torch.func.hessian, whose batched forward derivatives are wrong for the scale of a LayerNorm (torch 2.13):
    its matrix is not even symmetric.
    """
    scope = {id(p) for p in (model.parameters() if parameters is None else parameters)}
    named = {f"model.{name}": p.detach() for name, p in model.named_parameters()}
    scope_shapes = {f"model.{name}": p.shape for name, p in model.named_parameters() if id(p) in scope}
    whole = Mean(model, loss, batches)

    def f(vector):
        parts = vector.split([shape.numel() for shape in scope_shapes.values()])
        changed = {name: part.view(shape) for (name, shape), part in zip(scope_shapes.items(), parts, strict=True)}
        return functional_call(whole, named | changed, ())

    start = torch.cat([named[name].flatten() for name in scope_shapes])
    with warnings.catch_warnings(), sdpa_kernel(SDPBackend.MATH), evaluating(model):
        warnings.filterwarnings("ignore", "`torch.jit", DeprecationWarning)
        if along is None:
            return torch.autograd.functional.hessian(f, start)
        return torch.stack([jvp(grad(f), (start,), (row,))[1] for row in along])


@pytest.fixture(scope="session")
def tiny():
    return make_state


@pytest.fixture(scope="session")
def exact():
    return hessian_by_torch
