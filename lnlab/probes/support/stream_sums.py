"""Sums over the batches at every site of the residual stream, with masks of padding, for its probes."""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from lnlab.nn.sites import Site, activations
from lnlab.probes.probe import State, evaluating
from lnlab.probes.support.token_masks import stream_masks
from lnlab.tasks.task import Batch

_ReadTensors = Callable[[State, Batch, Mapping[Site, Tensor]], Mapping[Site, Tensor]]


def forward_activations(state: State, batch: Batch, seen: Mapping[Site, Tensor]) -> Mapping[Site, Tensor]:
    """The activations (batch, length, width) of a forward pass, which fills ``seen``."""
    with torch.no_grad():
        state.forward(batch)
    return seen


def site_sums(
    state: State,
    batches: int,
    split: str,
    terms: Callable[[Tensor, Tensor], Tensor],
    read: _ReadTensors = forward_activations,
) -> dict[Site, Tensor]:
    """Sum ``terms(x, mask)`` over batches, by site, in float64. Dropout is off.

    Args:
        state: the measured state.
        batches: number of batches.
        split: split of the batches.
        terms: maps (batch, length, width) and the mask of tokens (batch, length) to the terms of the sums.
        read: maps a batch to the tensor of each site, by default the activations.
    """
    sums: dict[Site, Tensor] = {}
    with evaluating(state.model), activations(state.model) as seen:
        for batch in state.batches(batches, split):
            mask = stream_masks(state, batch)
            for site, x in read(state, batch, seen).items():
                total = terms(x.double(), mask(site, x))
                sums[site] = sums[site] + total if site in sums else total
            seen.clear()  # so that the next batch gets its memory, and that of its graph
    return sums
