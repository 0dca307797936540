"""Sums over the batches at every site of the residual stream, padding told apart: what its probes have in common."""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from lnlab.nn.sites import Site, activations
from lnlab.probes.probe import State, evaluating
from lnlab.probes.support.token_masks import present
from lnlab.tasks.task import Batch

_Look = Callable[[State, Batch, Mapping[Site, Tensor]], Mapping[Site, Tensor]]


def passed(state: State, batch: Batch, seen: Mapping[Site, Tensor]) -> Mapping[Site, Tensor]:
    """The activations (batch, length, width) of a forward pass, which are put into ``seen``."""
    with torch.no_grad():
        state.model(batch)
    return seen


def summed(
    state: State, batches: int, split: str, parts: Callable[[Tensor, Tensor], Tensor], look: _Look = passed
) -> dict[Site, Tensor]:
    """Σ of ``parts(x, here)`` over batches, by site, in float64; dropout is off.

    Args:
        state: what is measured.
        batches: how many.
        split: of which split.
        parts: from (batch, length, width) and where there is a token (batch, length), to the terms of the sums.
        look: from a batch to what is summed at each site: by default the activations themselves.
    """
    sums: dict[Site, Tensor] = {}
    with evaluating(state.model), activations(state.model) as seen:
        for batch in state.batches(batches, split):
            here = present(batch)
            for site, x in look(state, batch, seen).items():
                found = parts(x.double(), here[site.stack])
                sums[site] = sums[site] + found if site in sums else found
            seen.clear()  # so that the next batch gets its memory, and that of its graph
    return sums
