"""Masks of the token positions of a batch, by stack."""

from collections.abc import Callable

from torch import Tensor

from lnlab.nn.data import tokens_read
from lnlab.nn.masks import PAD_TOKEN
from lnlab.nn.site import AddressedModel
from lnlab.nn.sites import Site
from lnlab.probes.probe import State
from lnlab.tasks.task import Batch


def token_masks(batch: Batch) -> dict[str | None, Tensor]:
    """The mask of each stack, (batch, length), by its name: True where it reads a token and not padding."""
    return {stack: tokens != PAD_TOKEN for stack, tokens in tokens_read(batch).items()}


def stream_masks(state: State, batch: Batch) -> Callable[[Site, Tensor], Tensor]:
    """Return a function from a site and its tensor (..., width) to the mask of a batch there (...).

    A model from elsewhere has its own.
    """
    if isinstance(state.model, AddressedModel):
        return state.model.tokens_at(batch)
    masks = token_masks(batch)
    return lambda site, _: masks[site.stack]
