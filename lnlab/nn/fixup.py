"""Fixup: branches that begin at zero, with earlier matrices scaled down with depth (Zhang et al., 2019).

With L residual branches in the model and m matrices in a branch, the last matrix of a branch and the classification
layer are 0, and the others are their usual draw times L^(-1/(2m - 2)): L^(-1/2) for w1 (m = 2), L^(-1/6) for q, k and v
(m = 4). That is the init. The placement is the paper's third rule, a scalar multiplier per branch and scalar biases.
"""

import math

import torch
from torch import Tensor, nn

from lnlab.nn.inits import InitDistribution, depths, fill, inits, normal_rows, xavier, zeros
from lnlab.nn.placements import LayerSpec, Sublayer, placements
from lnlab.nn.sites import Site, parameter_uses
from lnlab.randomness import Draw


@inits.register("fixup", zeros=("o", "w2", "output"), two_matrices=True)
def fixup(model: nn.Module, draw: Draw) -> None:
    """``L^(-1/2)`` times Xavier for w1, ``L^(-1/6)`` for q k v: o, w2 and the output begin at 0 (Zhang et al., 2019).

    L counts the residual branches of both stacks. Laws are fairseq's, uniform and with a gain of 1/√2 for q k v. The
    authors' code takes L = 12 in cross-attention, whatever the depth; this is the paper's rule. For models without
    norms: placement ``fixup``, or ``norm: none``. The output must have a table of its own.

    Raises:
        ValueError: the output shares the table of an embedding, which cannot be zero.
    """
    uses = {site: p for site, p in parameter_uses(model) if site.tensor == "table"}
    # The output's own use is one of these.
    if sum(p is uses.get(Site(None, None, "output", "table")) for p in uses.values()) > 1:
        raise ValueError("found an output that shares its table with an embedding, expected one of its own")
    branches = sum(layers * sublayers for layers, sublayers in depths(model).values())

    def matrix(site: Site) -> InitDistribution:
        if site.tensor in ("o", "w2"):
            return zeros
        return xavier("uniform", w1_gain(branches) if site.tensor == "w1" else qkv_gain(branches) * math.sqrt(0.5))

    fill(model, draw, matrix, lambda site: zeros if site.stack is None else normal_rows())


def w1_gain(branches: int) -> float:
    """``L^(-1/2)``: one other matrix in the branch."""
    gain: float = branches**-0.5
    return gain


def qkv_gain(branches: int) -> float:
    """``L^(-1/6)``: three other matrices in the branch."""
    gain: float = branches ** (-1 / 6)
    return gain


@placements.register("fixup", norm_of="nothing")
class Fixup(nn.Module):
    """``x = x + scale f(x + shift)``: a scalar multiplier and a scalar bias in a norm's place (Zhang et al., 2019).

    Both are learned, 1 and 0 at first, one of each a sublayer; the setting's norm is not made. The authors' code has
    scalar biases around w1's ReLU too, in place of the linear maps' own biases, which stay here, and a scalar shift
    where the final norm was. Its other half is the init ``fixup``.
    """

    final_norm = False

    def __init__(self, at: LayerSpec) -> None:
        super().__init__()
        self.norms = nn.ModuleList(Shift() for _ in range(at.sublayers))
        self.scale = nn.ParameterList(torch.ones(()) for _ in range(at.sublayers))

    def forward(self, x: Tensor, *sublayers: Sublayer) -> Tensor:
        """(batch, length, width) -> the same shape."""
        for f, shift, scale in zip(sublayers, self.norms, self.scale, strict=True):
            x = x + scale * f(shift(x))
        return x


class Shift(nn.Module):
    """``x + shift``: one learned scalar for all tokens and coordinates."""

    def __init__(self) -> None:
        super().__init__()
        self.shift = nn.Parameter(torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        """Any shape -> the same shape."""
        return x + self.shift
