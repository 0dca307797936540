"""nGPT: every vector on the unit sphere, weights and stream alike (Loshchilov et al., 2024).

    h <- n(h + |α| (n(f(h)) - h)),    q, k <- s n(q), s n(k),    w2(silu(√d s' w3 x) √d s'' w1 x),    n(x) = x / ‖x‖

with a softmax of ``√d_h q k``. The vectors α, s, s', s'' and the factor of the logits are learned. α, s and the factor
of the logits are stored divided by √d, so that Adam, whose steps have the size of the rate, moves each by as large a
share as a weight of a unit row. The rows that read the stream and the columns that write to it have length 1. The init
``unit_rows`` ensures this at the beginning, and the intervention ``unit_rows`` after every update. The whole model, in
keys of a spec:

    model: {kind: language_model, tied: none, positions: none, embedding_scale: one, output_scale: true,
            feed_forward: ngpt, linear: {kind: plain, bias: false}, ...}
    norm: unit    placement: ngpt    attention: ngpt    init: unit_rows    interventions: [{kind: unit_rows}]

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
from lnlab.nn.norms import norms
from lnlab.nn.placements import LayerSpec, Sublayer, placements
from lnlab.nn.post_init import run_post_init_hooks
from lnlab.nn.rotary import RotaryAttention
from lnlab.nn.sites import weights
from lnlab.randomness import Draw
from lnlab.registry import default

WRITERS = ("o", "w2")
"""The matrices that write to the stream. All others, and tables, read it."""


@norms.register("unit", statistics="token")
class Unit(nn.Module):
    """``x / ‖x‖``: of length 1, with nothing that is learned (Loshchilov et al., 2024)."""

    def __init__(self, width: int) -> None:  # noqa: ARG002 - as every norm is built
        super().__init__()

    def forward(self, x: Tensor) -> Tensor:
        """(..., width) -> the same shape."""
        return normalize(x, dim=-1)


@placements.register("ngpt", norm_of="stream")
class NGPT(nn.Module):
    """``x = norm(rest * x + step * f(x))``: a step of a learned size on the sphere (Loshchilov et al., 2024).

    ``step`` is |α| and ``rest`` 1 - |α|, vectors of each sublayer; α is 0.05 at first. Beside it stand ``norm: unit``
    and an attention and a feed-forward network that return vectors of length 1.
    """

    final_norm = False
    first = 0.05

    def __init__(self, at: LayerSpec) -> None:
        super().__init__()
        self.root = math.sqrt(at.width)
        self.norms = nn.ModuleList(at.norm() for _ in range(at.sublayers))
        # α over its first value, divided by √d: `step_of` multiplies by both again.
        self.gate = nn.ParameterList(torch.full((at.width,), 1 / self.root) for _ in range(at.sublayers))

    def step_of(self, sublayer: int) -> Tensor:
        """|α| of a sublayer, by its number from 0: (width,)."""
        stored: Tensor = self.gate[sublayer]
        return (stored * (self.first * self.root)).abs()

    @property
    def step(self) -> Tensor:
        """|α| of the first sublayer: (width,)."""
        return self.step_of(0)

    @property
    def rest(self) -> Tensor:
        """``1 - |α|`` of the first sublayer, the share of the stream that stays: (width,)."""
        return 1 - self.step

    def forward(self, x: Tensor, *sublayers: Sublayer) -> Tensor:
        """(batch, length, width) -> the same shape."""
        for number, (f, norm) in enumerate(zip(sublayers, self.norms, strict=True)):
            step = self.step_of(number)
            x = norm((1 - step) * x + step * f(x))
        return x


@attentions.register("ngpt")
class NGPTAttention(RotaryAttention):
    """``n(softmax(√d_h (s n(R_t q)) (s n(R_s k))ᵀ) v)``: of unit vectors, one in turn (Loshchilov et al., 2024).

    n(x) is x / ‖x‖. s is a learned vector of all heads together, 1 at first. Positions are by rotation.
    """

    def __init__(self, width: int, heads: int, linear: LinearBuilder = nn.Linear) -> None:
        super().__init__(width, heads, linear)
        # Times the root, not over it: products of unit vectors have the size 1 / √d_h.
        self.scale = math.sqrt(width // heads)
        self.root = math.sqrt(width)
        self.gain_qk = nn.Parameter(torch.full((width,), 1 / self.root))

    def ready(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        """Rotate queries and keys, normalize them to length 1, and scale them."""
        s = (self.gain_qk * self.root).view(self.heads, 1, -1)
        return s * normalize(self.turned(q), dim=-1), s * normalize(self.turned(k), dim=-1)

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
        """The output of attention, normalized to length 1."""
        return normalize(super().forward(x, memory, mask), dim=-1)


@feed_forwards.register("ngpt", matrices=3, inner=6)
class NGPTFeedForward(nn.Module):
    """``n(w2(silu(√d s' w3(x)) √d s'' w1(x)))``: SwiGLU of unit vectors, of length 1 (Loshchilov et al., 2024).

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
        return normalize(y, dim=-1)


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
    """Scale each row of a weight, but each column of o and w2, to length 1. The zero row of padding stays."""
    for site, p in weights(model):
        # A weight is (fan_out, fan_in), so that o and w2 write to the stream by columns.
        p.copy_(normalize(p, dim=0 if site.tensor in WRITERS else -1))
