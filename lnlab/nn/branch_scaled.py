"""Residual branches that begin smaller the more of them there are (Radford et al., 2019, Section 2.3)."""

from collections.abc import Callable
from typing import Annotated

import torch
from torch import nn

from lnlab.nn.inits import depths, inits
from lnlab.nn.post_init import run_post_init_hooks
from lnlab.nn.sites import weights
from lnlab.randomness import Draw
from lnlab.registry import default


@inits.register("branch_scaled")
@torch.no_grad()
def branch_scaled(
    model: nn.Module, draw: Draw, *, of: Annotated[Callable[..., None], inits] = default("xavier_normal")
) -> None:
    """``M^(-1/2)``: times another init's o and w2, M being the branches of the stack, 2 L in GPT-2 (Radford, 2019).

    So the stream grows by as much as one branch of the other init would add to it, however deep the stack is.
    """
    of(model, draw)
    branches = {stack: layers * sublayers for stack, (layers, sublayers) in depths(model).items()}
    for site, p in weights(model):
        if site.layer is not None and site.tensor in ("o", "w2"):
            p.mul_(branches[str(site.stack)] ** -0.5)
    run_post_init_hooks(model)
