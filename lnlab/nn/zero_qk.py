"""``q = k = 0``, uniform attention at first: the assumption of the bounds on the gradients of Post-LN and Pre-LN.

Theorem 1 of Xiong et al. (2020) has it.
"""

from collections.abc import Callable
from typing import Annotated

import torch
from torch import nn

from lnlab.nn.inits import inits
from lnlab.nn.post_init import run_post_init_hooks
from lnlab.nn.sites import weights
from lnlab.randomness import Draw
from lnlab.registry import default


@inits.register("zero_qk", zeros=("q", "k"))
@torch.no_grad()
def zero_qk(
    model: nn.Module, draw: Draw, *, of: Annotated[Callable[..., None], inits] = default("xavier_normal")
) -> None:
    """``q = k = 0``: each query averages over what it may attend to; the rest is another init's (Xiong et al., 2020).

    This is what Theorem 1 of the paper assumes. It also assumes one head, no output matrix o and d_ff = d.
    """
    of(model, draw)
    for site, p in weights(model):
        if site.tensor in ("q", "k"):
            p.zero_()
    run_post_init_hooks(model)
