"""Placements of recent language models, with N the norm, f a branch and l the layer, from 1.

x + f(N(x) / √l)                        LayerNorm Scaling (Sun et al., 2025)
x + N(f(x))                             the reordered norm of OLMo 2 (2024)
N(x + attention(x)), then x + f(x)      HybridNorm (Zhuo et al., 2025)
"""

import math
from typing import Literal

from torch import Tensor, nn

from lnlab.nn.placements import LayerSpec, Pre, Sublayer, placements


@placements.register("scaled_pre", norm_of="branch")
class ScaledPre(nn.Module):
    """``x = x + f(scale norm(x))``: Pre-LN with scale = 1 / sqrt(l) in layer l, from 1 (Sun et al., 2025).

    LayerNorm Scaling: branches of deep layers are kept from being lost in a stream whose variance grows. The final norm
    is not scaled.
    """

    final_norm = True

    def __init__(self, at: LayerSpec) -> None:
        super().__init__()
        self.norms = nn.ModuleList(at.norm() for _ in range(at.sublayers))
        self.scale = 1 / math.sqrt(at.layer)

    def forward(self, x: Tensor, *sublayers: Sublayer) -> Tensor:
        """(batch, length, width) -> the same shape."""
        for f, norm in zip(sublayers, self.norms, strict=True):
            x = x + f(norm(x) * self.scale)
        return x


@placements.register("reordered", norm_of="branch")
class Reordered(nn.Module):
    """``x = x + norm(f(x))``: the norm on what the branch gives back, and none before it (OLMo 2, 2024).

    The branch reads the stream as it is. OLMo 2 norms queries and keys besides: ``attention: {kind: rotary, norm:
    qk_width}``.
    """

    final_norm = True

    def __init__(self, at: LayerSpec) -> None:
        super().__init__()
        self.norms = nn.ModuleList(at.norm() for _ in range(at.sublayers))

    def forward(self, x: Tensor, *sublayers: Sublayer) -> Tensor:
        """(batch, length, width) -> the same shape."""
        for f, norm in zip(sublayers, self.norms, strict=True):
            x = x + norm(f(x))
        return x


class _Hybrid(nn.Module):
    """``y = x + attention(x), n = norm(y), x = n + feed_forward(n)``."""

    final_norm = True

    def __init__(self, at: LayerSpec) -> None:
        super().__init__()
        # The norm is that of the last attention's sum, as in Post-LN: its place in the list is its address.
        self.attentions = max(at.sublayers - 1, 1)
        self.norms = nn.ModuleList([*(nn.Identity() for _ in range(self.attentions - 1)), at.norm()])

    def forward(self, x: Tensor, *sublayers: Sublayer) -> Tensor:
        """(batch, length, width) -> the same shape."""
        for f in sublayers[: self.attentions]:
            x = x + f(x)
        x = self.norms[-1](x)
        for f in sublayers[self.attentions :]:  # the feed-forward network
            x = x + f(x)
        return x


@placements.register("hybrid", norm_of="stream")
def hybrid(at: LayerSpec, *, first: Literal["hybrid", "pre"] = "hybrid") -> nn.Module:
    """``x = norm(x + f(x))`` at the attention alone: HybridNorm, with no norm at the other branch (Zhuo et al., 2025).

    The attention reads the stream as it is, so choose ``attention: {kind: rotary, norm: qkv_heads}`` with it. The
    stream takes up the normed vector, not its sum with the branch normed. ``first: pre`` makes the first layer Pre-LN,
    as the paper's HybridNorm* has it.
    """
    return Pre(at) if first == "pre" and at.layer == 1 else _Hybrid(at)
