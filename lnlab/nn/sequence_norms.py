"""``(x - mean) / sqrt(var + eps)`` with statistics of one sentence, per coordinate or per group of coordinates.

Instance norm (Ulyanov et al., 2016) has statistics per coordinate, group norm (Wu and He, 2018) per group of
coordinates. In images the positions are pixels. In text they are the tokens of the sentence, without padding. Both let
a position see every other one, later ones included, so that a causal stack cannot have them. Where each coordinate has
its own statistics, its mean over the sentence is always the shift.
"""

from typing import Annotated

from pydantic import Field
from torch import Tensor, nn

from lnlab.nn.norms import NormEpsilon, norms
from lnlab.nn.pooled import Pooled, masked_moments


@norms.register("group", statistics="sequence", coordinatewise=lambda norm, width: norm["groups"] == width)
class GroupNorm(Pooled):
    """``(x - mean) / sqrt(var + eps) * scale + shift``: over a sentence's tokens and a group (Wu and He, 2018).

    ``groups: 1`` takes the statistics of the sentence's whole matrix; as many groups as coordinates are instance norm.
    The paper's 32 groups are for 64 coordinates and more.
    """

    def __init__(self, width: int, *, groups: Annotated[int, Field(ge=1)] = 8, eps: NormEpsilon = 1e-5) -> None:
        super().__init__(width, eps)
        if width % groups:
            raise ValueError(f"found width {width}, which {groups} groups do not divide")
        self.groups = groups

    def normalized(self, x: Tensor) -> Tensor:
        """(batch, length, width) -> the same shape."""
        grouped = x.view(*x.shape[:2], self.groups, -1)
        # (batch, length, groups, coordinates of a group): one mean and variance for each sentence and group.
        mean, variance, _ = masked_moments(grouped, self.present, (1, 3))
        normalized: Tensor = (grouped - mean) / (variance + self.eps).sqrt()
        return normalized.view_as(x)


@norms.register("instance", statistics="sequence", coordinatewise=lambda _norm, _width: True)
def instance(width: int, *, eps: NormEpsilon = 1e-5) -> nn.Module:
    """``(x - mean) / sqrt(var + eps) * scale + shift``: a coordinate over a sentence's tokens (Ulyanov et al., 2016).

    A sentence of one token is left with the shift alone.
    """
    return GroupNorm(width, groups=width, eps=eps)
