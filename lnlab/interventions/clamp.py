"""``x min(1, m √d / ‖x‖)``: no token is longer than m times the length of one with unit variance."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.optim import Optimizer

from lnlab.interventions.activations import replaced
from lnlab.interventions.intervention import interventions
from lnlab.interventions.where import Activations


@interventions.register("clamp", acts_on="function")
@contextmanager
def clamp(
    model: nn.Module, _optimizer: Optimizer | None, *, where: Activations, most: Annotated[float, Field(gt=0)] = 1.0
) -> Iterator[None]:
    """``x min(1, m √d / ‖x‖)``: a token's norm is at most m √d (as Pascanu et al., 2013, clip a gradient's).

    ``most`` is m. A shorter token stays as it is; of a longer one the gradient along the token is 0.
    """
    with replaced(model, where, lambda x: clamped(x, most)):
        yield


def clamped(x: Tensor, most: float) -> Tensor:
    """``x min(1, most √d / ‖x‖)`` of each token: (..., width) -> the same shape."""
    # The denominator is never 0, so that a token of zeros has a gradient.
    longest = most * math.sqrt(x.shape[-1])
    norm = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
    clamped: Tensor = x * (longest / norm.clamp(min=longest))
    return clamped
