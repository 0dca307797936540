"""A tiny encoder-decoder in float64, its loss, its gradients by address, and its formula written by hand."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

import lnlab.catalogue  # noqa: F401 - registers everything
from lnlab.interventions.intervention import interventions
from lnlab.nn.inits import inits
from lnlab.nn.masks import causal, padding
from lnlab.nn.models import models, parts_of
from lnlab.nn.norms import norms
from lnlab.nn.placements import placements
from lnlab.nn.sites import Site, parameter_uses
from lnlab.randomness import Draw


@dataclass(frozen=True)
class Batch:
    source: Tensor
    target_in: Tensor
    target_out: Tensor


def make_batch() -> Batch:
    """Three sentence pairs of different lengths, padded with 0."""
    generator = torch.Generator().manual_seed(5)
    source, target_in, target_out = (torch.randint(1, 23, (3, n), generator=generator) for n in (7, 6, 6))
    source[1, 5:] = source[2, 2:] = 0
    target_in[0, 4:] = target_out[0, 4:] = target_in[2, 5:] = target_out[2, 5:] = 0
    return Batch(source, target_in, target_out)


def make_model(placement: str = "post", *, norm: str = "layer", layers: int = 2, tied: str = "target") -> nn.Module:
    """Initialized, in float64 and in evaluation mode."""
    stack = {
        "layers": layers,
        "norm": norms.resolve({"kind": norm}),
        "placement": placements.resolve(placement),
        "attention": {"kind": "softmax", "dropout": 0.0, "output": True},
    }
    choice = models.resolve({"kind": "encoder_decoder", "d_model": 16, "heads": 2, "d_ff": 32, "tied": tied})
    parts = {"encoder": parts_of(stack), "decoder": parts_of(stack | {"cross_attention": True})}
    model = models.builder(choice)(23, parts)
    inits["xavier_normal"].build(model, Draw(1))
    return model.double().eval()


def mean_loss(logits: Tensor, batch: Batch) -> Tensor:
    """Nats per token."""
    return cross_entropy(logits.flatten(0, 1), batch.target_out.flatten(), ignore_index=0)


@dataclass
class ByHand:
    """The formula of an encoder-decoder in Post-LN or Pre-LN; ``at`` replaces activations.

    ``seen`` records them as they were before.
    """

    model: nn.Module
    placement: str
    at: Mapping[Site, Callable[[Tensor], Tensor]] = field(default_factory=dict)
    seen: dict[Site, Tensor] = field(default_factory=dict)

    def __call__(self, batch: Batch) -> Tensor:
        present = padding(batch.source)
        memory = self.stack("encoder", batch.source, present, None, None)
        x = self.stack("decoder", batch.target_in, causal(batch.target_in), memory, present)
        return x @ self.model.output.table.T

    def put(self, site: Site, x: Tensor) -> Tensor:
        self.seen[site] = x.detach()
        return self.at.get(site, lambda x: x)(x)

    def stack(
        self, name: str, tokens: Tensor, mask: Tensor, memory: Tensor | None, memory_mask: Tensor | None
    ) -> Tensor:
        stack = self.model.get_submodule(name)
        x = self.put(Site(name, None, "embedding", "out"), stack.embedding(tokens))
        for number, layer in enumerate(stack.layers, 1):
            for (sublayer, module), norm in zip(layer.sublayers.items(), layer.placement.norms, strict=True):
                sites = [Site(name, number, sublayer, tensor) for tensor in ("in", "branch", "sum", "out")]
                f_in = self.put(sites[0], x if self.placement == "post" else norm(x))
                match sublayer:
                    case "self_attention":
                        branch = module(f_in, f_in, mask)
                    case "cross_attention":
                        branch = module(f_in, memory, memory_mask)
                    case _:
                        branch = module(f_in)
                x = self.put(sites[2], x + self.put(sites[1], branch))
                x = norm(x) if self.placement == "post" else x
                x = self.put(sites[3], x)
        if stack.final_norm is None:
            return x
        x = stack.final_norm(self.put(Site(name, None, "final_norm", "in"), x))
        return self.put(Site(name, None, "final_norm", "out"), x)


def make_gradients(model: nn.Module, logits: Tensor) -> dict[Site, Tensor]:
    """Of the mean loss, by address; zeros where there is none."""
    sites, weights = zip(*parameter_uses(model), strict=True)
    loss = mean_loss(logits, make_batch())
    gradients = torch.autograd.grad(loss, weights, allow_unused=True, materialize_grads=True)
    return dict(zip(sites, gradients, strict=True))


def make_intervention(kind: str, model: nn.Module, optimizer=None, **parameters):
    """The context manager of an intervention, as a spec names it."""
    return interventions.builder(interventions.resolve({"kind": kind, **parameters}))(model, optimizer)


@pytest.fixture
def batch() -> Batch:
    return make_batch()


@pytest.fixture
def model():
    return make_model


@pytest.fixture
def by_hand():
    return ByHand


@pytest.fixture
def gradients():
    return make_gradients


@pytest.fixture
def intervene():
    return make_intervention


@pytest.fixture
def loss():
    return mean_loss
