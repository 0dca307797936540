"""Where the norm sits on the residual branches of a layer: each placement's ``forward`` is its formula.

A placement is a module of one *layer*, ``forward(x, *sublayers) -> x``. Some need the layer's input again, or share one
scalar among its sublayers, which a formula of one sublayer cannot express. Its modules and parameters are in lists
indexed by sublayer, so that each norm has an address. ``final_norm`` says whether its stack needs a norm after the last
layer.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from torch import Tensor, nn

from lnlab.facts import Facts
from lnlab.keys import Json
from lnlab.registry import Registry

Sublayer = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class LayerSpec:
    """The layer that a placement belongs to.

    Attributes:
        stack: ``encoder`` or ``decoder``.
        layer: its number, from 1.
        layers: number of layers of this stack.
        other_layers: number of layers of the other stack, or None if there is none.
        sublayers: residual branches in the layer: 2, or 3 with cross-attention.
        width: coordinates of a token's vector.
        norm: builds a new norm of that width.
    """

    stack: str
    layer: int
    layers: int
    other_layers: int | None
    sublayers: int
    width: int
    norm: Callable[[], nn.Module]


@dataclass(frozen=True)
class PlacementFacts(Facts):
    """The facts of a placement.

    Attributes:
        norm_of: what is normalized: the ``stream`` itself (Post-LN and its kin), what enters the ``branch`` (Pre-LN and
            its kin), ``both`` in one stack, or ``nothing``. None means not known.
        waits: the parameter, and its value, with which the placement needs an init that takes the profile of a batch.
        gate: the parameter with which its gates begin.
    """

    norm_of: Literal["stream", "branch", "both", "nothing"] | None = None
    waits: tuple[str, Json] | None = None
    gate: str | None = None


placements: Registry[Callable[..., nn.Module]] = Registry("placement", PlacementFacts)


@placements.register("post", norm_of="stream")
class Post(nn.Module):
    """``x = norm(x + f(x))`` for each sublayer f: between the residual blocks (Vaswani et al., 2017)."""

    final_norm = False

    def __init__(self, at: LayerSpec) -> None:
        super().__init__()
        self.norms = nn.ModuleList(at.norm() for _ in range(at.sublayers))

    def forward(self, x: Tensor, *sublayers: Sublayer) -> Tensor:
        """(batch, length, width) -> the same shape."""
        for f, norm in zip(sublayers, self.norms, strict=True):
            x = norm(x + f(x))
        return x


@placements.register("pre", norm_of="branch")
class Pre(nn.Module):
    """``x = x + f(norm(x))`` for each sublayer f: inside the branch, and a last norm after all (Xiong et al., 2020)."""

    final_norm = True

    def __init__(self, at: LayerSpec) -> None:
        super().__init__()
        self.norms = nn.ModuleList(at.norm() for _ in range(at.sublayers))

    def forward(self, x: Tensor, *sublayers: Sublayer) -> Tensor:
        """(batch, length, width) -> the same shape."""
        for f, norm in zip(sublayers, self.norms, strict=True):
            x = x + f(norm(x))
        return x
