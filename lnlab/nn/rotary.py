"""The attention of today's language models: rotary positions, shared keys and values, norms of queries and keys.

Coordinates i and i + d_h/2 of a head are a pair, turned by the angle ``position base^(-2i/d_h)`` (Su et al., 2021, with
the pairs of Llama). A product of a query and a key then depends on their distance alone.
"""

from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.nn.attention import DotProductAttention, DropoutRate, attentions
from lnlab.nn.linear import LinearBuilder
from lnlab.nn.models import Count
from lnlab.nn.norms import NormEpsilon


@attentions.register("rotary")
class RotaryAttention(DotProductAttention):
    """``softmax(R_t q (R_s k)ᵀ / sqrt(width / heads)) v``: positions by rotation (Su et al., 2021).

    Give the model ``positions: none`` with it. ``base`` is that of the angles; null turns nothing. ``kv_heads`` keys
    and values serve all heads, an equal number each (Ainslie et al., 2023). ``norm`` is an RMSNorm with a gain before
    the rotation: ``qk_width`` of queries and of keys over all heads together (OLMo 2, 2024), ``qk_heads`` in each head
    (Dehghani et al., 2023), ``qkv_heads`` of values, too (HybridNorm; Zhuo et al., 2025).
    """

    def __init__(
        self,
        width: int,
        heads: int,
        linear: LinearBuilder = nn.Linear,
        *,
        base: Annotated[float, Field(gt=1)] | None = 10_000.0,
        kv_heads: Count | None = None,
        norm: Literal["none", "qk_width", "qk_heads", "qkv_heads"] = "none",
        eps: NormEpsilon = 1e-6,
        dropout: DropoutRate = 0.0,
    ) -> None:
        super().__init__(width, heads, linear, dropout=dropout)
        of_head = width // heads
        if heads % (kv_heads or heads):
            what = f"{kv_heads} heads of keys and values do not divide {heads} heads"
            raise LabError(Issue("unsupported", "attention.kv_heads", what, "give a divisor of model.heads"))
        if base is not None and of_head % 2:
            what = f"a head has {of_head} coordinates, which do not come in pairs"
            raise LabError(
                Issue("unsupported", "attention.base", what, "make model.d_model / model.heads even, or base: null")
            )
        self.base = base
        self.kv_heads = kv_heads or heads
        if self.kv_heads != heads:
            self.k = linear(width, self.kv_heads * of_head)
            self.v = linear(width, self.kv_heads * of_head)
        self.of_heads = norm != "qk_width"
        widths = {"q": width, "k": self.kv_heads * of_head} if norm == "qk_width" else dict.fromkeys("qkv", of_head)
        names = {"none": "", "qk_width": "qk", "qk_heads": "qk", "qkv_heads": "qkv"}[norm]
        self.norms = nn.ModuleDict({name: nn.RMSNorm(widths[name], eps) for name in names})

    def ready(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        """Turned by their positions; keys once for each head that they serve."""
        repeats = self.heads // self.kv_heads
        q, k = self._turned(q), self._turned(k)
        return q, k if repeats == 1 else k.repeat_interleave(repeats, dim=1)

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
        """As in ``DotProductAttention``."""
        q, k = self.ready(self._headed("q", x), self._headed("k", memory))
        v = self._headed("v", memory)
        if self.kv_heads != self.heads:
            v = v.repeat_interleave(self.heads // self.kv_heads, dim=1)
        rate = self.dropout if self.training else 0.0
        gathered = scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=rate, scale=self.scale)
        mixed: Tensor = self.o(gathered.transpose(1, 2).flatten(2))
        return mixed

    @torch.no_grad()
    def logits(self, x: Tensor, memory: Tensor) -> Tensor:
        """What the softmax is of, masked or not: (batch, heads, queries, keys)."""
        q, k = self.ready(self._headed("q", x), self._headed("k", memory))
        logits: Tensor = (q @ k.mT) * q.shape[-1] ** -0.5
        return logits

    def _headed(self, name: str, x: Tensor) -> Tensor:
        """Queries, keys or values, (batch, heads, length, width / heads), normed where they are to be."""
        projected: Tensor = getattr(self, name)(x)
        norm = self.norms[name] if name in self.norms else None  # noqa: SIM401 - a ModuleDict has no get
        if norm is not None and not self.of_heads:
            projected = norm(projected)
        heads = self.heads if name == "q" else self.kv_heads
        split = projected.view(*projected.shape[:2], heads, -1).transpose(1, 2)
        return norm(split) if norm is not None and self.of_heads else split

    def _turned(self, t: Tensor) -> Tensor:
        """Each pair (i, i + d_h/2) by position base^(-2i/d_h)."""
        if self.base is None:
            return t
        half = t.shape[-1] // 2
        # In float64 until the sines are taken: in float32 the angle of a late position is off by its rounding.
        rates = self.base ** (-torch.arange(half, dtype=torch.float64, device="cpu") / half)
        angles = torch.arange(t.shape[-2], dtype=torch.float64, device="cpu")[:, None] * rates
        cos, sin = (f(angles).to(dtype=t.dtype, device=t.device) for f in (torch.cos, torch.sin))
        first, second = t[..., :half], t[..., half:]
        return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)
