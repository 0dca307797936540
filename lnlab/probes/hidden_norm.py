"""``E‖x‖² / d`` and ``E‖x‖``: the size of a token's vector wherever the stream passes (Xiong et al., 2020, Lemma 2).

Means are over the tokens of all batches, without padding. Sums are in float64.
"""

from collections.abc import Iterator
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor

from lnlab.probes.probe import State, once, probes
from lnlab.probes.support.known_sites import at_all_sites, stream_sites
from lnlab.probes.support.stream_sums import site_sums
from lnlab.tables import Row
from lnlab.vocabulary.hidden_states import HIDDEN_NORM

_QUANTITIES = tuple(HIDDEN_NORM)


@probes.register(
    "hidden_norm",
    table="sites",
    passes=once,
    quantities=HIDDEN_NORM,
    sites=lambda model, _: at_all_sites(_QUANTITIES, stream_sites(model)),
    any_stream=True,
)
def hidden_norm(
    state: State,
    *,
    batches: Annotated[int, Field(ge=1)] = 6,
    split: Literal["train", "validation", "test"] = "train",
) -> Iterator[Row]:
    """``E‖x‖² / d, E‖x‖``: size of a token's vector along the stream (Xiong et al., 2020, Lemma 2).

    Measured at every sublayer (``in``, ``branch``, ``sum``, ``out``), after the embedding and after the final norm;
    dropout is off.
    """
    for site, sums in site_sums(state, batches, split, _terms).items():
        square, norm, tokens = sums.tolist()
        for quantity, total in zip(_QUANTITIES, (square, norm), strict=True):
            yield {"quantity": quantity, **site.row(), "value": total / tokens}


def _terms(x: Tensor, mask: Tensor) -> Tensor:
    """Sum over tokens ‖x‖²/d, ‖x‖ and 1: (3,)."""
    squares = x[mask].square()
    norms = squares.sum(-1).sqrt()
    return torch.stack((squares.mean(-1), norms, torch.ones_like(norms))).sum(1)
