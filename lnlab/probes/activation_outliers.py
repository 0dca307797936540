"""``E(x - μ)⁴ / Var²`` and ``max |x| / median |x|``: how far a few coordinates stand out along the stream.

Both are over every coordinate of every token, without padding. The kurtosis of a normal distribution is 3.
"""

from collections.abc import Iterator
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor

from lnlab.nn.sites import Site, activations
from lnlab.probes.probe import State, evaluating, once, probes
from lnlab.probes.support.known_sites import at_all_sites, stream_sites
from lnlab.probes.support.stream_sums import forward_activations
from lnlab.probes.support.token_masks import stream_masks
from lnlab.tables import Row
from lnlab.vocabulary.hidden_states import ACTIVATION_OUTLIERS

_KURTOSIS, _LARGEST = ACTIVATION_OUTLIERS


@probes.register(
    "activation_outliers",
    table="sites",
    passes=once,
    quantities=ACTIVATION_OUTLIERS,
    sites=lambda model, _: at_all_sites(tuple(ACTIVATION_OUTLIERS), stream_sites(model)),
    any_stream=True,
)
def activation_outliers(
    state: State,
    *,
    batches: Annotated[int, Field(ge=1)] = 1,
    split: Literal["train", "validation", "test"] = "train",
) -> Iterator[Row]:
    """``E(x - μ)⁴ / Var², max |x| / median |x|``: outliers at every site of the stream (Sun et al., 2024, Section 2).

    As ``activation_moments`` in all else. A site whose coordinates are constant has no kurtosis, and one whose median
    is 0 no ratio. Dropout is off.
    """
    found: dict[Site, list[Tensor]] = {}
    with evaluating(state.model), activations(state.model) as seen:
        for batch in state.batches(batches, split):
            mask = stream_masks(state, batch)
            for site, x in forward_activations(state, batch, seen).items():
                found.setdefault(site, []).append(x[mask(site, x)].double().flatten())
            seen.clear()
    for site, parts in found.items():
        x = torch.cat(parts)
        deviation = x - x.mean()
        variance, middle = deviation.square().mean(), x.abs().median()
        if variance > 0:
            yield {"quantity": _KURTOSIS, **site.row(), "value": (deviation**4).mean().item() / variance.item() ** 2}
        if middle > 0:
            yield {"quantity": _LARGEST, **site.row(), "value": (x.abs().max() / middle).item()}
