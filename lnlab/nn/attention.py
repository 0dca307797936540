"""``softmax(q kᵀ / sqrt(width / heads)) v``, the attention of tokens to tokens (Vaswani et al., 2017).

An attention is built from ``(width, heads, linear)``, where ``linear`` builds its matrices, and called with
``(x, memory, mask)``. Queries come from ``x``, keys and values from ``memory`` (the same tensor in self-attention).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Annotated

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from lnlab.nn.linear import LinearBuilder
from lnlab.registry import Registry

attentions: Registry[Callable[..., nn.Module]] = Registry("attention")

DropoutRate = Annotated[float, Field(ge=0, lt=1)]


class DotProductAttention(nn.Module, ABC):
    """Multi-head softmax attention. Subclasses define how queries and keys are transformed before their product.

    Attributes:
        scale: factor on the product of a query and a key. None means 1 / sqrt(width / heads).
    """

    scale: float | None = None

    def __init__(
        self,
        width: int,
        heads: int,
        linear: LinearBuilder,
        *,
        dropout: float,
        output: bool = True,
    ) -> None:
        super().__init__()
        if width % heads:
            raise ValueError(f"found width {width}, which {heads} heads do not divide")
        self.heads = heads
        self.dropout = dropout
        self.q = linear(width, width)
        self.k = linear(width, width)
        self.v = linear(width, width)
        self.o = linear(width, width) if output else nn.Identity()

    @abstractmethod
    def ready(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        """Transform queries and keys (batch, heads, length, width / heads) for their product."""

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
        """Return the output of each query. A query that may attend to nothing gets the output bias alone.

        Args:
            x: (batch, queries, width).
            memory: (batch, keys, width).
            mask: boolean, broadcast to (batch, heads, queries, keys), True where a query may attend.

        Returns:
            (batch, queries, width).
        """
        q, k = self.ready(self.in_heads("q", x), self.in_heads("k", memory))
        v = self.in_heads("v", memory)
        rate = self.dropout if self.training else 0.0
        gathered = scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=rate, scale=self.scale)
        mixed: Tensor = self.o(gathered.transpose(1, 2).flatten(2))  # heads side by side: (batch, queries, width)
        return mixed

    @torch.no_grad()
    def logits(self, x: Tensor, memory: Tensor) -> Tensor:
        """Attention logits before the mask: (batch, heads, queries, keys)."""
        q, k = self.ready(self.in_heads("q", x), self.in_heads("k", memory))
        return (q @ k.mT) * (q.shape[-1] ** -0.5 if self.scale is None else self.scale)

    def in_heads(self, name: str, x: Tensor) -> Tensor:
        """Queries, keys or values ``q``, ``k``, ``v`` of x: (batch, heads, length, width / heads)."""
        projected: Tensor = getattr(self, name)(x)
        return projected.view(*projected.shape[:2], self.heads, -1).transpose(1, 2)


@attentions.register("softmax")
class SoftmaxAttention(DotProductAttention):
    """``softmax(q kᵀ / sqrt(width / heads)) v``, in heads: scaled dot product (Vaswani et al., 2017).

    ``output: false`` leaves out the matrix o behind the heads, as theory with a single head does (Xiong et al., 2020).
    """

    def __init__(
        self,
        width: int,
        heads: int,
        linear: LinearBuilder = nn.Linear,
        *,
        dropout: DropoutRate = 0.0,
        output: bool = True,
    ) -> None:
        super().__init__(width, heads, linear, dropout=dropout, output=output)

    def ready(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        """Return both unchanged."""
        return q, k
