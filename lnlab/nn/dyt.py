"""``tanh(alpha x) * scale + shift``: what a trained norm looks like, without any statistics (Zhu et al., 2025)."""

from collections.abc import Callable
from typing import Annotated

import torch
from torch import Tensor, nn

from lnlab.nn.inits import inits
from lnlab.nn.norms import norms
from lnlab.nn.sites import first_uses
from lnlab.randomness import Draw
from lnlab.registry import default


@norms.register("dyt", statistics="token", later=("shift",))
class DynamicTanh(nn.Module):
    """``tanh(alpha x) * scale + shift``: alpha a learned scalar, one for the whole norm (Zhu et al., 2025).

    It squashes large coordinates as a norm does, but its Jacobian does not shrink with the size of x while alpha x is
    small: a control for every claim that rests on 1/sigma. Of the authors' values of ``alpha`` 0.5 is that of all but
    large language models, which have no shift, and an alpha of each place, given by the init ``dyt``. ``shift`` adds a
    learned vector.
    """

    def __init__(self, width: int, *, alpha: float = 0.5, shift: bool = True) -> None:
        super().__init__()
        self.alpha = nn.Parameter(torch.tensor(alpha))
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width)) if shift else None

    def forward(self, x: Tensor) -> Tensor:
        """(..., width) -> the same shape."""
        y = torch.tanh(self.alpha * x) * self.weight
        return y if self.bias is None else y + self.bias


@inits.register("dyt", norm="dyt")
@torch.no_grad()
def dyt(
    model: nn.Module,
    draw: Draw,
    *,
    attention: float = 0.8,
    feed_forward: float = 0.2,
    final: float = 0.2,
    of: Annotated[Callable[..., None], inits] = default("xavier_normal"),
) -> None:
    """``alpha`` of its place, and another init for the rest: DyT in language models (Zhu et al., 2025).

    The defaults are the authors' for Llama of 7 billion weights; for 70 billion they take 0.2, 0.05 and 0.05.
    ``attention``, ``feed_forward`` and ``final`` are the alphas before attention, before the feed-forward network and
    after the last layer; ``of`` is the other init.
    """
    of(model, draw)
    # By identity, as ReZero's gate is called alpha, too.
    alphas = {id(module.alpha) for module in model.modules() if isinstance(module, DynamicTanh)}
    places = {"feed_forward": feed_forward, "final_norm": final}
    for site, p in first_uses(model):
        if id(p) in alphas:
            p.fill_(places.get(str(site.sublayer), attention))
