"""``g cos(q, k)`` and ``norm(q)ᵀ norm(k)``: queries and keys normed in each head before they meet.

So no weight can make the logits large (Henry et al., 2020; Dehghani et al., 2023).
"""

import math
from typing import Annotated

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn.functional import normalize

from lnlab.nn.attention import DotProductAttention, DropoutRate, attentions
from lnlab.nn.linear import LinearBuilder
from lnlab.nn.norms import NormEpsilon


@attentions.register("qk_norm")
class QKNormAttention(DotProductAttention):
    """``softmax(g q̂ k̂ᵀ) v, x̂ = x / max(‖x‖, eps)``: cosines in each head, times a learned g (Henry et al., 2020).

    At first g = log2(L² - L): the paper's L is the length that 97.5 % of the training sentences do not exceed, here
    ``length``. No logit exceeds g.
    """

    scale = 1.0  # the learned gain stands in the place of 1 / sqrt(width / heads)

    def __init__(
        self,
        width: int,
        heads: int,
        linear: LinearBuilder = nn.Linear,
        *,
        length: Annotated[int, Field(ge=2)] = 32,
        eps: NormEpsilon = 1e-6,
        dropout: DropoutRate = 0.0,
    ) -> None:
        super().__init__(width, heads, linear, dropout=dropout)
        self.eps = eps
        self.logit_gain = nn.Parameter(torch.tensor(math.log2(length**2 - length)))

    def ready(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        """Scale queries to length g and keys to length 1."""
        return self.logit_gain * normalize(q, dim=-1, eps=self.eps), normalize(k, dim=-1, eps=self.eps)


@attentions.register("qk_layer_norm")
class QKLayerNormAttention(DotProductAttention):
    """``softmax(norm(q) norm(k)ᵀ / sqrt(width / heads)) v``: a layer norm over each head (Dehghani et al., 2023).

    One scale and shift for the queries of all heads, and one for the keys.
    """

    def __init__(
        self,
        width: int,
        heads: int,
        linear: LinearBuilder = nn.Linear,
        *,
        eps: NormEpsilon = 1e-6,
        dropout: DropoutRate = 0.0,
    ) -> None:
        super().__init__(width, heads, linear, dropout=dropout)
        self.norms = nn.ModuleDict({name: nn.LayerNorm(width // heads, eps) for name in ("q", "k")})

    def ready(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        """Normalize each head's queries and keys to mean 0 and variance 1, then scale and shift them."""
        return self.norms["q"](q), self.norms["k"](k)
