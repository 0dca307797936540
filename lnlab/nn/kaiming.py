"""``2 / fan_in``: the variance that keeps the second moment through a ReLU (He et al., 2015)."""

from typing import Literal

from torch import nn

from lnlab.nn.inits import InitDistribution, Shape, fill, inits, xavier
from lnlab.nn.sites import Site
from lnlab.randomness import Draw

TENSORS = {"w1": ("w1",), "feed_forward": ("w1", "w2", "w3"), "all": ("q", "k", "v", "o", "w1", "w2", "w3")}


@inits.register("kaiming")
def kaiming(
    model: nn.Module,
    draw: Draw,
    *,
    shape: Shape = "normal",
    matrices: Literal["w1", "feed_forward", "all"] = "w1",
) -> None:
    """``Var = 2 / fan_in``: of the matrix before the ReLU, the others Xavier uniform (He et al., 2015).

    The derivation holds for w1, whose input is a stream and whose output meets the ReLU. ``feed_forward`` adds w2, and
    ``all`` the matrices of attention. Tables are N(0, 1/d).
    """

    def distribution(site: Site) -> InitDistribution:
        return he(shape) if site.tensor in TENSORS[matrices] else xavier("uniform")

    fill(model, draw, distribution)


def he(shape: Shape) -> InitDistribution:
    """Variance ``2 / fan_in``: N(0, 2/fan_in), or U(-a, a) with a² = 6/fan_in."""
    fill_in_place = nn.init.kaiming_normal_ if shape == "normal" else nn.init.kaiming_uniform_
    # torch's `mode` is fan_in unless told otherwise, and its gain for a ReLU √2.
    return lambda tensor, generator: fill_in_place(tensor, nonlinearity="relu", generator=generator)
