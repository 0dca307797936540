"""The feed-forward network of a layer, the same at every position: ``relu(x w1 + b1) w2 + b2`` and others.

It is built from ``(width, d_ff, linear)``, where ``linear`` builds its matrices. ``w1`` is the input matrix, ``w2`` the
output matrix, and ``w3`` that of a gate beside w1. ``linear: {kind: plain, bias: false}`` leaves out the biases.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from torch import Tensor, nn
from torch.nn.functional import gelu, relu, silu

from lnlab.facts import Facts
from lnlab.nn.linear import LinearBuilder
from lnlab.registry import Registry

FeedForwardBuilder = Callable[[int, int, LinearBuilder], nn.Module]


@dataclass(frozen=True)
class FeedForwardFacts(Facts):
    """The facts of a feed-forward network.

    Attributes:
        matrices: number of matrices of size d_ff by width.
        inner: numbers that its graph stores, as multiples of d_ff.
    """

    matrices: int = 2
    inner: int = 2


feed_forwards: Registry[Callable[..., nn.Module]] = Registry("feed_forward", FeedForwardFacts)


@feed_forwards.register("relu")
class FeedForward(nn.Module):
    """``w2(relu(w1(x)))``: of two matrices (Vaswani et al., 2017, Section 3.3)."""

    def __init__(self, width: int, d_ff: int, linear: LinearBuilder = nn.Linear) -> None:
        super().__init__()
        self.w1 = linear(width, d_ff)
        self.w2 = linear(d_ff, width)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, length, width) -> (batch, length, width)."""
        y: Tensor = self.w2(relu(self.w1(x)))
        return y


@feed_forwards.register("gelu")
class GELUFeedForward(nn.Module):
    """``w2(gelu(w1(x)))``: x Φ(x) in place of the rectifier (Hendrycks and Gimpel, 2016).

    ``approximate: tanh`` is GPT-2's form, ``x (1 + tanh(√(2/π) (x + 0.044715 x³))) / 2``.
    """

    def __init__(
        self,
        width: int,
        d_ff: int,
        linear: LinearBuilder = nn.Linear,
        *,
        approximate: Literal["none", "tanh"] = "none",
    ) -> None:
        super().__init__()
        self.w1 = linear(width, d_ff)
        self.w2 = linear(d_ff, width)
        self.approximate = approximate

    def forward(self, x: Tensor) -> Tensor:
        """(batch, length, width) -> (batch, length, width)."""
        y: Tensor = self.w2(gelu(self.w1(x), approximate=self.approximate))
        return y


@feed_forwards.register("swiglu", matrices=3, inner=4)
class SwiGLU(nn.Module):
    """``w2(silu(w3(x)) w1(x))``: a gated network of three matrices (Shazeer, 2020).

    Llama has no biases in it, and ``d_ff`` about 8 d_model / 3, so that it has as many weights as two matrices with
    d_ff = 4 d_model.
    """

    def __init__(self, width: int, d_ff: int, linear: LinearBuilder = nn.Linear) -> None:
        super().__init__()
        self.w3 = linear(width, d_ff)
        self.w1 = linear(width, d_ff)
        self.w2 = linear(d_ff, width)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, length, width) -> (batch, length, width)."""
        y: Tensor = self.w2(silu(self.w3(x)) * self.w1(x))
        return y
