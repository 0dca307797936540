"""Fixup: branches that begin at zero, and what stands before their last matrix smaller with depth (Zhang et al., 2019).

With L residual branches in the model and m matrices in a branch, the last matrix of a branch and the classification
layer are 0, and the others are their usual draw times L^(-1/(2m - 2)): L^(-1/2) for w1 (m = 2), L^(-1/6) for q, k and
v (m = 4).
"""

import math

from torch import nn

from lnlab.nn.inits import Law, depths, fill, inits, rows, xavier, zeros
from lnlab.nn.sites import Site, parameters
from lnlab.randomness import Draw


@inits.register("fixup", zeros=("o", "w2", "output"))
def fixup(model: nn.Module, draw: Draw) -> None:
    """``L^(-1/2)`` times Xavier for w1, ``L^(-1/6)`` for q k v: o, w2 and the output begin at 0 (Zhang et al., 2019).

    L counts the residual branches of both stacks. Laws are fairseq's, uniform and with a gain of 1/√2 for q k v. The
    authors' code takes L = 12 in cross-attention, whatever the depth; this is the paper's rule. Its third rule, scalar
    biases and multipliers, is a change of the graph: here the layers' own biases, 0 at first, stand for the biases, and
    there is no multiplier. For models without norms: ``norm: none``. The output must have a table of its own.

    Raises:
        ValueError: the output shares the table of an embedding, which cannot be zero.
    """
    uses = {site: p for site, p in parameters(model) if site.tensor == "table"}
    if sum(p is uses.get(Site(None, None, "output", "table")) for p in uses.values()) > 1:
        raise ValueError("found an output that shares its table with an embedding, expected one of its own")
    branches = sum(layers * sublayers for layers, sublayers in depths(model).values())

    def matrix(site: Site) -> Law:
        if site.tensor in ("o", "w2"):
            return zeros
        return xavier("uniform", w1_gain(branches) if site.tensor == "w1" else qkv_gain(branches) * math.sqrt(0.5))

    fill(model, draw, matrix, lambda site: zeros if site.stack is None else rows())


def w1_gain(branches: int) -> float:
    """``L^(-1/2)``: one other matrix in the branch."""
    gain: float = branches**-0.5
    return gain


def qkv_gain(branches: int) -> float:
    """``L^(-1/6)``: three other matrices in the branch."""
    gain: float = branches ** (-1 / 6)
    return gain
