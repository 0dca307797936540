"""One init with some of its matrices from another: a recipe without one of its parts."""

from collections.abc import Callable
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import nn

from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.nn.inits import inits
from lnlab.nn.post_init import run_post_init_hooks
from lnlab.nn.sites import first_uses
from lnlab.randomness import Draw
from lnlab.registry import default

_Tensors = Annotated[list[Literal["q", "k", "v", "o", "w1", "w2", "w3", "table"]], Field(min_length=1)]


@inits.register("replaced")
@torch.no_grad()
def replaced(
    model: nn.Module,
    draw: Draw,
    *,
    tensors: _Tensors,
    of: Annotated[Callable[..., None], inits] = default("t_fixup"),
    stack: Literal["encoder", "decoder"] | None = None,
    by: Annotated[Callable[..., None], inits] = default("xavier_uniform"),
) -> None:
    """``b`` at some tensors, ``a`` elsewhere: an init without one of its parts (Huang et al., 2020, for T-Fixup).

    ``of`` is the init a. ``by`` is the init b. ``tensors`` are those that have b's values. With ``stack`` this is so in
    one stack alone. A table that serves an embedding and the output counts as the embedding's, the encoder's where one
    serves all. Both inits draw a tensor from the same numbers.

    Raises:
        LabError: the model has no such tensor.
    """
    chosen = [p for site, p in first_uses(model) if site.tensor in tensors and stack in (None, site.stack)]
    if not chosen:
        what = f"this model has no {', '.join(tensors)} in the {stack or 'layers'}"
        raise LabError(Issue("unsupported", "init.tensors", what, "name tensors and a stack that the model has"))
    by(model, draw)  # b first: both write in place, and what is left in the model is to be a
    kept = [p.clone() for p in chosen]
    of(model, draw)
    for p, values in zip(chosen, kept, strict=True):
        p.copy_(values)
    run_post_init_hooks(model)
