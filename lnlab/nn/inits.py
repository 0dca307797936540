"""``Var = 2 / (fan_in + fan_out)`` and other initial values, in place: each tensor from a draw addressed by its site.

So placements of one seed start from the same weights, and so do the layers that a shallow and a deep model share.
Matrices of layers (q k v o w1 w2 w3) follow the init. Biases and shifts are 0 and scales are 1 everywhere. Unless an
init says otherwise, tables of embeddings and of an untied output are N(0, 1/d) with a zero row for padding. A
classifier's weight is N(0, 1/d) too, with a row for each label and none for padding. Parameters that a norm, a
placement or an attention sets itself are left as they are.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Generator, Tensor, nn

from lnlab.facts import Facts
from lnlab.nn.masks import PAD_TOKEN
from lnlab.nn.post_init import run_post_init_hooks
from lnlab.nn.sites import Site, first_uses, parameter_uses
from lnlab.randomness import Draw
from lnlab.registry import Choice, Registry

InitDistribution = Callable[[Tensor, Generator], object]
"""Fills a tensor in place."""

Shape = Literal["normal", "uniform"]


@dataclass(frozen=True)
class InitFacts(Facts):
    """The facts of an init. An init whose builder has a third argument, batches, reads data before any update.

    Attributes:
        reads: maps its parameters to the number of training batches that it reads, None for a whole epoch.
        passes: maps its parameters to the cost of this in forward passes of one batch.
        profiles: the placement whose parameters it writes, from the profile of a batch.
        norm_of: what the placement that it belongs to must norm.
        zeros: the tensors that it sets to zero. ``output`` stands for that of the output.
        own: whether it keeps the model's own initial values.
        untied: whether the output must not share the table of an embedding.
        bounds: the parameters between which it draws, the lower one first.
        continues: whether it takes the weights of another run, its builder's third argument in place of batches.
        norm: the norm whose parameters it writes.
        two_matrices: whether its law requires a feed-forward network of two matrices.
    """

    reads: Callable[[Choice], int | None] | None = None
    passes: Callable[[Choice], float] | None = None
    profiles: str | None = None
    norm_of: Literal["stream", "branch", "nothing"] | None = None
    zeros: tuple[str, ...] = ()
    own: bool = False
    untied: bool = False
    bounds: tuple[str, str] | None = None
    continues: bool = False
    norm: str | None = None
    two_matrices: bool = False


inits: Registry[Callable[..., None]] = Registry("init", InitFacts)


@inits.register("xavier_normal")
def xavier_normal(model: nn.Module, draw: Draw) -> None:
    """``N(0, 2 / (fan_in + fan_out))``: matrices of layers only, tables N(0, 1/d) (Glorot and Bengio, 2010)."""
    fill(model, draw, lambda _: xavier("normal"))


@inits.register("xavier_uniform")
def xavier_uniform(model: nn.Module, draw: Draw) -> None:
    """``U(-a, a), a² = 6 / (fan_in + fan_out)``: matrices of layers; tables N(0, 1/d) (Glorot and Bengio, 2010)."""
    fill(model, draw, lambda _: xavier("uniform"))


@inits.register("fairseq")
def fairseq(model: nn.Module, draw: Draw) -> None:
    """``U(-ga, ga), a² = 6 / (fan_in + fan_out)``: g = 1/√2 for q k v, else 1; tables N(0, 1/d) (Ott et al., 2019).

    The variance of q, k and v is that of one matrix of 3d x d, 1/(2d), whether fused as at first or apart as later.
    """
    fill(model, draw, lambda site: xavier("uniform", math.sqrt(0.5) if site.tensor in "qkv" else 1.0))


@inits.register("own", own=True)
def own(model: nn.Module, draw: Draw) -> None:
    """``θ``: what one's own model gave itself, under the run's seed, as torch's modules do (Paszke et al., 2019)."""


def xavier(shape: Shape, gain: float = 1.0) -> InitDistribution:
    """Variance ``gain² 2 / (fan_in + fan_out)`` (Glorot and Bengio, 2010)."""
    fill_in_place = nn.init.xavier_normal_ if shape == "normal" else nn.init.xavier_uniform_
    return lambda tensor, generator: fill_in_place(tensor, gain, generator)


def normal_rows(gain: float = 1.0) -> InitDistribution:
    """``N(0, gain² / d)`` for a table of vectors of width d."""
    return lambda tensor, generator: tensor.normal_(0, gain * tensor.shape[1] ** -0.5, generator=generator)


def zeros(tensor: Tensor, _generator: Generator) -> None:
    """0 everywhere."""
    tensor.zero_()


def depths(model: nn.Module) -> dict[str, tuple[int, int]]:
    """Layers of each stack by name, and residual branches in one of its layers."""
    sites = [site for site, p in parameter_uses(model) if site.layer and site.sublayer and p.dim() > 1]
    branches = {(site.stack, site.layer, site.sublayer) for site in sites}
    layers = {str(stack): max(n for other, n, _ in branches if other == stack and n) for stack, _, _ in branches}
    # All layers of a stack have the same branches.
    return {name: (n, sum(stack == name for stack, _, _ in branches) // n) for name, n in layers.items()}


@torch.no_grad()
def fill(
    model: nn.Module,
    draw: Draw,
    matrix: Callable[[Site], InitDistribution],
    table: Callable[[Site], InitDistribution] = lambda _: normal_rows(),
) -> None:
    """Fill every parameter once, a tied one by the first of its sites.

    Args:
        model: filled in place.
        draw: gives each site its seed.
        matrix: the distribution of each matrix of a layer.
        table: the distribution of each table and of a classifier's weight. A table's row of padding is zero.
    """
    for site, p in first_uses(model):
        if site.tensor == "table":
            fill_parameter(p, draw, site, table(site))
            p[PAD_TOKEN] = 0
        elif site.sublayer == "output" and p.dim() > 1:
            fill_parameter(p, draw, site, table(site))
        elif p.dim() > 1:
            fill_parameter(p, draw, site, matrix(site))
        elif site.tensor.startswith("scale"):
            p.fill_(1)
        elif site.tensor.startswith(("shift", "b")):  # b1, bq, ...; gates and gains keep what their module gave them
            p.zero_()
    run_post_init_hooks(model)


@torch.no_grad()
def fill_parameter(p: nn.Parameter, draw: Draw, site: Site, distribution: InitDistribution) -> None:
    """Fill one parameter from the draw of a site.

    The values are drawn in float32 on the CPU and cast to the format of the model. On the meta device nothing is drawn.
    """
    if p.is_meta:
        distribution(p, Generator())
        return
    tensor = torch.empty(p.shape, dtype=torch.float32)
    distribution(tensor, Generator().manual_seed(draw("init", *site.row().values())))
    p.copy_(tensor)
