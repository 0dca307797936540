"""nGPT: every vector on the unit sphere, weights and stream alike (Loshchilov et al., 2024).

    h <- n(h + |α| (n(f(h)) - h)),    q, k <- s n(q), s n(k),    w2(silu(√d s' w3 x) √d s'' w1 x),    n(x) = x / ‖x‖

with a softmax of ``√d_h q k``. The vectors α, s, s', s'' and the factor of the logits are learned. α, s and the last
are stored as a d^(-1/2)-th of themselves, so that Adam, whose steps have the size of the rate, moves each by as large a
share as a weight of a unit row. The rows that read the stream and the columns that write to it have length 1: at the
beginning by the init ``unit_rows``, after every update by the intervention ``unit_rows``. The whole model, in keys of a
spec:

    model: {kind: language_model, tied: none, positions: none, embedding_scale: one, output_scale: true,
            feed_forward: ngpt, linear: {kind: plain, bias: false}, ...}
    norm: none    placement: ngpt    attention: ngpt    init: unit_rows    interventions: [{kind: unit_rows}]

The authors train with Adam at 15e-4, without warm-up and without decay.
"""

import math
from collections.abc import Callable
from typing import Annotated

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize, silu

from lnlab.nn.attention import attentions
from lnlab.nn.feedforward import feed_forwards
from lnlab.nn.inits import inits
from lnlab.nn.linear import LinearBuilder
from lnlab.nn.placements import LayerSpec, Sublayer, placements
from lnlab.nn.post_init import run_post_init_hooks
from lnlab.nn.rotary import RotaryAttention
from lnlab.nn.sites import weights
from lnlab.randomness import Draw
from lnlab.registry import default

WRITERS = ("o", "w2")
"""The matrices that write to the stream; all others, and tables, read it."""


@placements.register("ngpt", norm_of="stream")
class NGPT(nn.Module):
    """``x = n(x + |α| (n(f(x)) - x))``, n(x) = x / ‖x‖: a step on the unit sphere (Loshchilov et al., 2024).

    α is a learned vector a sublayer, 0.05 at first. The setting's norm is not made, and there is none at the end.
    """

    final_norm = False
    first = 0.05

    def __init__(self, at: LayerSpec) -> None:
        super().__init__()
        self.root = math.sqrt(at.width)
        self.alpha = nn.ParameterList(torch.full((at.width,), 1 / self.root) for _ in range(at.sublayers))

    def forward(self, x: Tensor, *sublayers: Sublayer) -> Tensor:
        """(batch, length, width) -> the same shape."""
        for f, alpha in zip(sublayers, self.alpha, strict=True):
            branch = normalize(f(x), dim=-1)
            x = normalize(x, dim=-1)
            x = normalize(x + (alpha * (self.first * self.root)).abs() * (branch - x), dim=-1)
        return x


@attentions.register("ngpt")
class NGPTAttention(RotaryAttention):
    """``softmax(√d_h (s n(R_t q)) (s n(R_s k))ᵀ) v``: products of unit vectors (Loshchilov et al., 2024).

    s is a learned vector of all heads together, 1 at first. Positions are by rotation.
    """

    def __init__(self, width: int, heads: int, linear: LinearBuilder = nn.Linear) -> None:
        super().__init__(width, heads, linear)
        self.scale = math.sqrt(width // heads)
        self.root = math.sqrt(width)
        self.gain_qk = nn.Parameter(torch.full((width,), 1 / self.root))

    def ready(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        """Turned, of length 1, and scaled."""
        s = (self.gain_qk * self.root).view(self.heads, 1, -1)
        return s * normalize(self.turned(q), dim=-1), s * normalize(self.turned(k), dim=-1)


@feed_forwards.register("ngpt", matrices=3, inner=6)
class NGPTFeedForward(nn.Module):
    """``w2(silu(√d s' w3(x)) √d s'' w1(x))``: SwiGLU of unit vectors (Loshchilov et al., 2024).

    s' and s'' are learned vectors, 1 at first. √d gives products of unit vectors, of which the silu is taken, the size
    1.
    """

    def __init__(self, width: int, d_ff: int, linear: LinearBuilder = nn.Linear) -> None:
        super().__init__()
        self.w3 = linear(width, d_ff)
        self.w1 = linear(width, d_ff)
        self.w2 = linear(d_ff, width)
        self.root = math.sqrt(width)
        self.gain_w3 = nn.Parameter(torch.ones(d_ff))
        self.gain_w1 = nn.Parameter(torch.ones(d_ff))

    def forward(self, x: Tensor) -> Tensor:
        """(batch, length, width) -> (batch, length, width)."""
        y: Tensor = self.w2(silu(self.root * self.gain_w3 * self.w3(x)) * (self.root * self.gain_w1 * self.w1(x)))
        return y


@inits.register("unit_rows")
def unit_rows(
    model: nn.Module, draw: Draw, *, of: Annotated[Callable[..., None], inits] = default("xavier_normal")
) -> None:
    """``w / ‖w‖``: each row that reads the stream, and each column of o and w2, at length 1 (Loshchilov et al., 2024).

    Directions are those of another init.
    """
    of(model, draw)
    to_unit_rows(model)
    run_post_init_hooks(model)


@torch.no_grad()
def to_unit_rows(model: nn.Module) -> None:
    """Each row of a matrix or table, and each column of o and w2, at length 1; a row of zeros, padding's, stays."""
    for site, p in weights(model):
        p.copy_(normalize(p, dim=0 if site.tensor in WRITERS else -1))
