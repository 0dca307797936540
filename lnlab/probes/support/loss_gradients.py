"""Gradients of a loss, and accumulators of their sums over batches."""

from collections.abc import Sequence

import torch
from torch import Tensor


def gradients_of(loss: Tensor, leaves: Sequence[Tensor]) -> list[Tensor]:
    """The gradient of each leaf, 0 where the loss does not depend on it. A sparse gradient is made dense."""
    parts = torch.autograd.grad(loss, leaves, allow_unused=True, materialize_grads=True)
    return [part if part.layout is torch.strided else part.to_dense() for part in parts]


def accumulator(like: Tensor) -> Tensor:
    """Zeros for a sum over batches, in float32 or better.

    In bfloat16 a sum no longer grows once it is 256 times as large as its terms.
    """
    return torch.zeros_like(like, dtype=torch.promote_types(like.dtype, torch.float32), requires_grad=False)
