"""T-Fixup: weights that shrink with depth, so that neither norm nor warm-up is needed (Huang et al., 2020).

For an SGD step of size eta to change the output by eta at any depth, ‖v‖²‖x‖² + ‖w‖²‖x‖² + ‖v‖²‖w‖² must be 1 /
branches in every branch. Over a decoder's 3 N, all equal: 3 s⁴ = 1/(3N), s = (9N)^(-1/4), tables included. Over an
encoder's 2 N, with tables as they are: s⁴ + 2/3 s² N^(-1/2) = 1/(2N), s = 0.67 N^(-1/4).
"""

import math
from typing import Annotated

from pydantic import Field
from torch import nn

from lnlab.nn.inits import InitDistribution, Shape, depths, fill, inits, normal_rows, xavier
from lnlab.nn.sites import Site
from lnlab.randomness import Draw


@inits.register("t_fixup")
def t_fixup(
    model: nn.Module,
    draw: Draw,
    *,
    shape: Shape = "uniform",
    qk_gain: Annotated[float, Field(gt=0)] = math.sqrt(0.5),
) -> None:
    """``0.67 N^(-1/4)`` or ``(9 N)^(-1/4)`` times Xavier: v o w1 w2 of encoder or decoder (Huang et al., 2020).

    N counts the layers of the stack. Tables of embeddings are N(0, 1/d) times (9N)^(-1/4) of their stack, the encoder's
    where one table serves all; so is a tied output, and an untied one is left at N(0, 1/d). Positions are not scaled. q
    and k keep fairseq's gain 1/√2, as in the authors' code, which the paper does not mention: 1 is plain Xavier. For
    models without norms: ``norm: none``.
    """
    layers = {name: n for name, (n, _) in depths(model).items()}

    def matrix(site: Site) -> InitDistribution:
        stack = str(site.stack)
        return xavier(shape, qk_gain if site.tensor in ("q", "k") else t_fixup_gain(stack, layers[stack]))

    def table(site: Site) -> InitDistribution:
        return normal_rows(1.0 if site.stack is None else table_gain(layers[site.stack]))

    fill(model, draw, matrix, table)


def t_fixup_gain(stack: str, layers: int) -> float:
    """The factor on v, o, w1 and w2 of a stack."""
    return 0.67 * layers**-0.25 if stack == "encoder" else table_gain(layers)


def table_gain(layers: int) -> float:
    """The factor on the embeddings of a stack, and on v, o, w1 and w2 of a decoder."""
    gain: float = (9 * layers) ** -0.25
    return gain
