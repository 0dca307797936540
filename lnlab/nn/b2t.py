"""``x = norm(x_in + x + f(x))``: a second skip, from the bottom of a layer to its top (Takase et al., 2022)."""

from collections.abc import Callable
from typing import Annotated

import torch
from torch import Tensor, nn

from lnlab.nn.inits import depths, inits
from lnlab.nn.placements import LayerSpec, Sublayer, placements
from lnlab.nn.post_init import run_post_init_hooks
from lnlab.nn.sites import weights
from lnlab.randomness import Draw
from lnlab.registry import default


@placements.register("b2t", norm_of="stream")
class BottomToTop(nn.Module):
    """``x = norm(x_in + x + f(x))`` in a layer's last sublayer: before it, Post-LN as it is (Takase et al., 2022).

    So the layer's input x_in passes one norm a layer. Its other half is the init ``b2t``.
    """

    final_norm = False

    def __init__(self, at: LayerSpec) -> None:
        super().__init__()
        self.norms = nn.ModuleList(at.norm() for _ in range(at.sublayers))

    def forward(self, x: Tensor, *sublayers: Sublayer) -> Tensor:
        """(batch, length, width) -> the same shape."""
        bottom = x
        for f, norm in zip(sublayers[:-1], self.norms[:-1], strict=True):
            x = norm(x + f(x))
        top: Tensor = self.norms[-1](bottom + x + sublayers[-1](x))
        return top


@inits.register("b2t")
@torch.no_grad()
def b2t(model: nn.Module, draw: Draw, *, of: Annotated[Callable[..., None], inits] = default("xavier_normal")) -> None:
    """``N^(-1/2)``: times another init's q k v o w1 w2, N being the layers of the stack (Takase et al., 2022).

    The authors' code does so wherever it adds the second skip; tables keep their size.
    """
    of(model, draw)
    layers = {name: n for name, (n, _) in depths(model).items()}
    for site, p in weights(model):
        if site.layer is not None:
            p.mul_(layers[str(site.stack)] ** -0.5)
    run_post_init_hooks(model)
