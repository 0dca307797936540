"""The gradient at each residual block from the gradient at the top, computed from single blocks alone.

With y_k = x_k + F(x_k), K blocks, and gradients as rows (Wang et al., 2019, Section 2):

    Post-LN   dL/dx_l = dL/dx_L  LN'(y_K) (1 + F'(x_K)) ... LN'(y_l) (1 + F'(x_l))
    Pre-LN    dL/dx_l = dL/dx_L (1 + Σ_(k>=l) ∂F(LN(x_k))/∂x_l)

No computation involves two blocks. Each factor is the product of a row with the Jacobian of one norm or one branch,
evaluated separately at a stored x_k.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

Function = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class ResidualBlock:
    """One residual block where the stream has passed.

    Attributes:
        layer: number of its layer, from 1.
        x: the stream that entered it, (batch, length, width).
        f: its branch, without the norm.
        norm: after the addition in Post-LN, before the branch in Pre-LN.
        attention: whether its branch reads other tokens.
    """

    layer: int
    x: Tensor
    f: Function
    norm: nn.Module
    attention: bool

    def after_post(self) -> Tensor:
        """``LN(x + F(x))``: the stream after the block in Post-LN."""
        y: Tensor = self.norm(self.x + self.f(self.x))
        return y

    def after_pre(self) -> Tensor:
        """``x + F(LN(x))``: the stream after the block in Pre-LN."""
        return self.x + self.f(self.norm(self.x))

    def through_norm(self, g: Tensor) -> Tensor:
        """``g LN'(y)``, y = x + F(x)."""
        with torch.no_grad():
            y = self.x + self.f(self.x)
        return times_jacobian(g, self.norm, y)

    def through_sum(self, g: Tensor) -> Tensor:
        """``g (1 + F'(x))``."""
        return g + times_jacobian(g, self.f, self.x)

    def through_branch(self, g: Tensor) -> Tensor:
        """``g ∂F(LN(x))/∂x``."""
        return times_jacobian(g, lambda x: self.f(self.norm(x)), self.x)


def product_form(blocks: Sequence[ResidualBlock], g: Tensor) -> list[Tensor]:
    """Post-LN's gradient where the stream enters each block, from ``g`` above the last."""
    gradients = []
    for block in reversed(blocks):
        g = block.through_sum(block.through_norm(g))
        gradients.append(g)
    return gradients[::-1]


def sum_form(blocks: Sequence[ResidualBlock], g: Tensor) -> list[Tensor]:
    """Pre-LN's gradient where the stream enters each block: ``g`` and one separate term for each block above."""
    gradients: list[Tensor] = []
    terms: list[Tensor] = []
    for block in reversed(blocks):
        terms = [term + block.through_branch(term) for term in terms] + [block.through_branch(g)]
        gradients.append(g + torch.stack(terms).sum(0))
    return gradients[::-1]


def separated_form(blocks: Sequence[ResidualBlock], g: Tensor) -> list[Tensor]:
    """Post-LN's formula read as two products, ``Π LN'(y_k) Π (1 + F'(x_k))``, which do not commute."""
    gradients = []
    for first in range(len(blocks)):
        h = g
        for block in reversed(blocks[first:]):
            h = block.through_norm(h)
        for block in reversed(blocks[first:]):
            h = block.through_sum(h)
        gradients.append(h)
    return gradients


def without_attention(blocks: Sequence[ResidualBlock]) -> list[ResidualBlock]:
    """The same blocks with attention as a constant, so that only feed-forward networks have a derivative."""
    return [replace(block, f=_constant(block.f)) if block.attention else block for block in blocks]


def times_jacobian(g: Tensor, f: Function, x: Tensor) -> Tensor:
    """``g f'(x)``, shapes as x."""
    leaf = x.detach().requires_grad_()
    with torch.enable_grad():
        (product,) = torch.autograd.grad(f(leaf), leaf, g)
    return product


def _constant(f: Function) -> Function:
    # `0 * x` keeps x in the graph, which autograd asks for. A function of its own, as a lambda in the comprehension
    # above would see the last block alone.
    return lambda x: f(x).detach() + 0 * x
