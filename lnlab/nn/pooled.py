"""``(x - mean) / sqrt(var + eps)`` with statistics of many tokens, and how such a norm gets the mask of padding.

A placement calls ``norm(x)`` for any norm, and only a stack knows its padding. So a stack sets the mask on its pooling
norms during its own forward pass.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn


class Pooled(nn.Module, ABC):
    """A norm with statistics over many tokens, and a scale and a shift per coordinate.

    Attributes:
        present: (batch, length), True where there is a token. It is None outside a stack's forward pass, where every
            position counts as a token.
    """

    present: Tensor | None = None

    def __init__(self, width: int, eps: float) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width))

    @abstractmethod
    def normalized(self, x: Tensor) -> Tensor:
        """``(x - mean) / sqrt(var + eps)``, (batch, length, width) -> the same shape."""

    def forward(self, x: Tensor) -> Tensor:
        """(batch, length, width) -> the same shape. Padding is normalized, too."""
        return self.normalized(x) * self.weight + self.bias


def pooled_norms(module: nn.Module) -> tuple[Pooled, ...]:
    """The norms of a module that need the mask."""
    return tuple(norm for norm in module.modules() if isinstance(norm, Pooled))


@contextmanager
def token_mask(norms: Sequence[Pooled], present: Tensor) -> Iterator[None]:
    """Give the norms the mask ``present`` (batch, length), True at tokens, inside the block only."""
    try:
        for norm in norms:
            norm.present = present
        yield
    finally:
        for norm in norms:
            norm.present = None


def masked_moments(x: Tensor, present: Tensor | None, dims: tuple[int, ...]) -> tuple[Tensor, Tensor, Tensor]:
    """Mean, biased variance and number of the present elements over ``dims``, which stay with length 1.

    Args:
        x: (batch, length, ...).
        present: (batch, length), or None for all.
        dims: the pooled dimensions.
    """
    # The mask gets an axis for each further one of x, whose coordinates all count at a token.
    mask = torch.ones_like(x) if present is None else present.to(x.dtype)[(...,) + (None,) * (x.dim() - 2)].expand_as(x)
    number = mask.sum(dims, keepdim=True).clamp(min=1)  # of a sentence of padding alone
    mean = (x * mask).sum(dims, keepdim=True) / number
    # Of differences from the mean: E x² - mean² would cancel.
    variance = ((x - mean).square() * mask).sum(dims, keepdim=True) / number
    return mean, variance, number
