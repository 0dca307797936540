"""``norm(x + f(x))`` in the first layers of a stack and ``x + f(norm(x))`` in the others (Li, Yin and Liu, 2025)."""

import math
from typing import Annotated

from pydantic import Field
from torch import nn

from lnlab.nn.placements import LayerSpec, Post, Pre, placements

_ROUNDING = 1e-9
"""So that 0.29 of 100 layers, 28.999999999999996, are 29."""


@placements.register("mix", norm_of="both")
def mix(at: LayerSpec, *, share: Annotated[float, Field(ge=0, le=1)] = 0.25) -> nn.Module:
    """``norm(x + f(x))`` in the first floor(a L) of L layers: ``x + f(norm(x))`` in the others (Li et al., 2025).

    ``share`` is a. The final norm comes after the last layer, unless all layers are Post-LN.
    """
    return Post(at) if at.layer <= math.floor(share * at.layers + _ROUNDING) else Pre(at)
