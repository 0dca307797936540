"""``E‖x‖² / d`` and ``E‖x‖``: the size of a token's vector wherever the stream passes (Xiong et al., 2020, Lemma 2).

Means are over the tokens of all batches, padding left out; sums in float64.
"""

from collections.abc import Iterator
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor

from lnlab.nn.sites import Site, activations
from lnlab.probes.probe import State, evaluating, once, probes
from lnlab.probes.tokens import present
from lnlab.tables import Row


@probes.register("hidden_norm", table="sites", passes=once, quantities=("hidden_norm_sq", "hidden_norm"))
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
    for site, (square, norm, tokens, width) in _sums(state, batches, split).items():
        yield {"quantity": "hidden_norm_sq", **site.row(), "value": (square / tokens / width).item()}
        yield {"quantity": "hidden_norm", **site.row(), "value": (norm / tokens).item()}


def _sums(state: State, batches: int, split: str) -> dict[Site, tuple[Tensor, Tensor, int, int]]:
    """Σ‖x‖² and Σ‖x‖ over tokens, how many tokens, and the width, by site."""
    sums: dict[Site, tuple[Tensor, Tensor, int, int]] = {}
    with evaluating(state.model), torch.no_grad(), activations(state.model) as seen:
        for batch in state.batches(batches, split):
            state.model(batch)
            here = present(batch)
            for site, x in seen.items():
                squares = x.double().square().sum(-1)[here[site.stack]]
                square, norm, tokens, _ = sums.get(site, (0.0, 0.0, 0, 0))
                norms = norm + squares.sqrt().sum()
                sums[site] = (square + squares.sum(), norms, tokens + len(squares), x.shape[-1])
    return sums
