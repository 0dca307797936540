"""The attention of today's language models: rotary positions, shared keys and values, norms of queries and keys.

Coordinates i and i + d_h/2 of a head are a pair, turned by the angle ``position base^(-2i/d_h)`` (Su et al., 2021, with
the pairs of Llama). The product of a query and a key then depends only on their distance.
"""

from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor, nn

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
        """Queries and keys (batch, heads, length, width / heads), rotated by their positions."""
        return self.turned(q), self.turned(k)

    def in_heads(self, name: str, x: Tensor) -> Tensor:
        """Queries, keys or values by head, normed where ``norm`` says so: (batch, heads, length, width / heads).

        Keys and values that serve several heads are repeated for each.
        """
        projected: Tensor = getattr(self, name)(x)
        norm = self.norms[name] if name in self.norms else None  # noqa: SIM401 - a ModuleDict has no get
        if norm is not None and not self.of_heads:
            projected = norm(projected)
        heads = self.heads if name == "q" else self.kv_heads
        split = projected.view(*projected.shape[:2], heads, -1).transpose(1, 2)
        if norm is not None and self.of_heads:
            split = norm(split)
        return split if heads == self.heads else split.repeat_interleave(self.heads // heads, dim=1)

    def turned(self, t: Tensor) -> Tensor:
        """Rotate each pair of coordinates (i, i + d_h/2) by the angle position base^(-2i/d_h)."""
        if self.base is None:
            return t
        half = t.shape[-1] // 2
        # In float64 until the sines are taken: in float32 the angle of a late position is off by its rounding.
        rates = self.base ** (-torch.arange(half, dtype=torch.float64, device="cpu") / half)
        angles = torch.arange(t.shape[-2], dtype=torch.float64, device="cpu")[:, None] * rates
        cos, sin = (f(angles).to(dtype=t.dtype, device=t.device) for f in (torch.cos, torch.sin))
        first, second = t[..., :half], t[..., half:]
        return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)
