"""Placements of language models of 2025: LayerNorm Scaling, the reordered norm of OLMo 2, and HybridNorm."""

import math
from typing import Literal

from torch import Tensor, nn

from lnlab.nn.placements import LayerSpec, Pre, Sublayer, placements


@placements.register("scaled_pre", norm_of="branch")
class ScaledPre(nn.Module):
    """``x = x + f(norm(x) / sqrt(l))``: Pre-LN whose norms shrink with the layer l, from 1 (Sun et al., 2025).

    LayerNorm Scaling: branches of deep layers are kept from being lost in a stream whose variance grows. The final norm
    is not scaled.
    """

    final_norm = True

    def __init__(self, at: LayerSpec) -> None:
        super().__init__()
        self.norms = nn.ModuleList(at.norm() for _ in range(at.sublayers))
        self.factor = 1 / math.sqrt(at.layer)

    def forward(self, x: Tensor, *sublayers: Sublayer) -> Tensor:
        """(batch, length, width) -> the same shape."""
        for f, norm in zip(sublayers, self.norms, strict=True):
            x = x + f(norm(x) * self.factor)
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
        self.norms = nn.ModuleList([*(nn.Identity() for _ in range(at.sublayers - 2)), at.norm()])

    def forward(self, x: Tensor, *sublayers: Sublayer) -> Tensor:
        """(batch, length, width) -> the same shape."""
        *attentions, feed_forward = sublayers
        for f in attentions:
            x = x + f(x)
        normed = self.norms[-1](x)
        y: Tensor = normed + feed_forward(normed)
        return y


@placements.register("hybrid", norm_of="both")
def hybrid(at: LayerSpec, *, first: Literal["hybrid", "pre"] = "hybrid") -> nn.Module:
    """``n = norm(x + a(x)), x = n + f(n)``: HybridNorm, with norms inside the attention (Zhuo et al., 2025).

    The attention reads the stream as it is, so choose ``attention: {kind: rotary, norm: qkv_heads}`` with it. The
    stream takes up the normed vector, not its sum with the branch normed. ``first: pre`` makes the first layer Pre-LN,
    as the paper's HybridNorm* has it.
    """
    return Pre(at) if first == "pre" and at.layer == 1 else _Hybrid(at)
