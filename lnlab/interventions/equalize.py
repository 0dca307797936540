"""``x / σ(x)`` of each token, σ a constant to the gradient: what remains of a norm's effect when σ cannot act.

Before a layer norm, which is invariant to the scale of its input, it changes no value. The norm's Jacobian is then that
of σ = 1. With the gradient of a factor 1 (``through: forward``) the shrinkage by 1/σ is therefore removed. With the
gradient of the factor 1/σ (``both``) everything stays as it was.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from lnlab.interventions.activations import Through, replaced, scaled
from lnlab.interventions.intervention import interventions
from lnlab.interventions.where import Activations


@interventions.register("equalize", acts_on="function")
@contextmanager
def equalize(
    model: nn.Module, _optimizer: Optimizer | None, *, where: Activations, through: Through = "both"
) -> Iterator[None]:
    """``x / σ(x)``: a token over the standard deviation of its coordinates, held constant (Xu et al., 2019).

    ``through: forward`` leaves the gradient as it is, and so cuts the shrinkage of a layer norm that follows;
    ``backward`` scales the gradient alone. A token whose coordinates are all alike stays as it is.
    """
    with replaced(model, where, lambda x: scaled(x, inverse_sigma(x), through)):
        yield


def inverse_sigma(x: Tensor) -> Tensor:
    """Return 1/σ of each token without a gradient, 1 where σ is 0: (batch, length, 1)."""
    sigma = x.detach().std(-1, correction=0, keepdim=True)
    return torch.where(sigma > 0, sigma, 1).reciprocal()
