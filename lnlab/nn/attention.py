"""``softmax(q kᵀ / sqrt(width / heads)) v``, the attention of tokens to tokens (Vaswani et al., 2017).

An attention is made from ``(width, heads)`` and called with ``(x, memory, mask)``: queries come from ``x``, keys and
values from ``memory`` (the same tensor in self-attention).
"""

from collections.abc import Callable
from typing import Annotated

from pydantic import Field
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from lnlab.registry import Registry

attentions: Registry[Callable[..., nn.Module]] = Registry("attention")


@attentions.register("softmax")
class SoftmaxAttention(nn.Module):
    """``softmax(q kᵀ / sqrt(width / heads)) v``, in heads: scaled dot product (Vaswani et al., 2017)."""

    def __init__(self, width: int, heads: int, *, dropout: Annotated[float, Field(ge=0, lt=1)] = 0.0) -> None:
        super().__init__()
        if width % heads:
            raise ValueError(f"found width {width}, which {heads} heads do not divide")
        self.heads = heads
        self.dropout = dropout
        self.q = nn.Linear(width, width)
        self.k = nn.Linear(width, width)
        self.v = nn.Linear(width, width)
        self.o = nn.Linear(width, width)

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
        """What each query gathers; a query that may attend to nothing gathers zeros, and so receives the output bias.

        Args:
            x: (batch, queries, width).
            memory: (batch, keys, width).
            mask: boolean, broadcast to (batch, heads, queries, keys); True where a query may attend.

        Returns:
            (batch, queries, width).
        """
        q, k, v = (self._split(t) for t in (self.q(x), self.k(memory), self.v(memory)))
        rate = self.dropout if self.training else 0.0
        gathered = scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=rate)
        mixed: Tensor = self.o(gathered.transpose(1, 2).flatten(2))
        return mixed

    def _split(self, t: Tensor) -> Tensor:
        return t.view(*t.shape[:2], self.heads, -1).transpose(1, 2)  # (batch, heads, length, width / heads)
