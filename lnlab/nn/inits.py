"""Initial values, in place: each tensor from a draw addressed by its site.

So placements of one seed start from the same weights, and so do the layers that a shallow and a deep model share.
Matrices of layers (q k v o w1 w2) follow the init; everywhere, biases and shifts are 0, scales 1, and tables, of
embeddings and of an untied output alike, are N(0, 1/d) with a zero row for padding. Parameters that a placement or an
attention sets itself are left as they are.
"""

import math
from collections.abc import Callable, Mapping

import torch
from torch import Generator, Tensor, nn

from lnlab.nn.masks import PAD
from lnlab.nn.sites import Site, parameters
from lnlab.randomness import Draw
from lnlab.registry import Registry

Fill = Callable[[Tensor, float, Generator], object]

inits: Registry[Callable[..., None]] = Registry("init")


@inits.register("xavier_normal")
def xavier_normal(model: nn.Module, draw: Draw) -> None:
    """``N(0, 2 / (fan_in + fan_out))``: matrices of layers only, tables N(0, 1/d) (Glorot and Bengio, 2010)."""
    _fill(model, draw, _normal, {})


@inits.register("xavier_uniform")
def xavier_uniform(model: nn.Module, draw: Draw) -> None:
    """``U(-a, a), a² = 6 / (fan_in + fan_out)``: matrices of layers; tables N(0, 1/d) (Glorot and Bengio, 2010)."""
    _fill(model, draw, _uniform, {})


@inits.register("fairseq")
def fairseq(model: nn.Module, draw: Draw) -> None:
    """``U(-ga, ga), a² = 6 / (fan_in + fan_out)``: g = 1/√2 for q k v, else 1; tables N(0, 1/d) (Ott et al., 2019).

    The variance of q, k and v is that of one matrix of 3d x d, 1/(2d), whether fused as at first or apart as later.
    """
    _fill(model, draw, _uniform, dict.fromkeys("qkv", math.sqrt(0.5)))


def _normal(tensor: Tensor, gain: float, generator: Generator) -> Tensor:
    return nn.init.xavier_normal_(tensor, gain, generator)


def _uniform(tensor: Tensor, gain: float, generator: Generator) -> Tensor:
    return nn.init.xavier_uniform_(tensor, gain, generator)


def _table(tensor: Tensor, _gain: float, generator: Generator) -> None:
    tensor.normal_(0, tensor.shape[1] ** -0.5, generator=generator)
    tensor[PAD] = 0


@torch.no_grad()
def _fill(model: nn.Module, draw: Draw, matrix: Fill, gains: Mapping[str, float]) -> None:
    """Every parameter once, a tied one by the first of its sites; ``gains`` by tensor, 1 where it says nothing."""
    first = {id(p): (site, p) for site, p in reversed(parameters(model))}
    for site, p in first.values():
        if site.tensor == "table":
            _drawn(p, draw, site, _table, 1.0)
        elif p.dim() > 1:
            _drawn(p, draw, site, matrix, gains.get(site.tensor, 1.0))
        elif site.tensor == "scale":
            p.fill_(1)
        elif site.tensor == "shift" or site.tensor.startswith("b"):
            p.zero_()


def _drawn(p: nn.Parameter, draw: Draw, site: Site, fill: Fill, gain: float) -> None:
    """Drawn in float32 on the CPU whatever the model is, then cast; on the meta device nothing is drawn."""
    tensor = torch.empty(p.shape, dtype=torch.float32, device="meta" if p.is_meta else "cpu")
    fill(tensor, gain, Generator().manual_seed(draw("init", *site.row().values())))
    p.copy_(tensor)
