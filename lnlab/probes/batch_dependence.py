"""``‖F(x | batch) - F(x | alone)‖ / ‖F(x | batch)‖``: what a model says of a sentence because of those beside it.

A norm over the coordinates of a token, or over the tokens of a sentence, gives each sentence what it would have alone;
one over a batch does not, as long as it takes the statistics of the batch. F is the model's logits, all those of a
sentence, and alone it stands without padding; the squared norms are summed over sentences. In float64, so that an
answer that does not depend on the batch differs by rounding alone.
"""

from collections.abc import Callable, Iterator, Mapping
from math import sqrt
from typing import Annotated, Any, Literal

import torch
from pydantic import Field
from torch import Tensor
from torch.func import functional_call

from lnlab.nn.masks import PAD
from lnlab.nn.modes import in_mode
from lnlab.probes.probe import State, probes
from lnlab.probes.support.float64_copy import doubles
from lnlab.tables import Row
from lnlab.tasks.task import Batch

_QUANTITIES: Mapping[str, bool] = {"batch_dependence": False, "batch_dependence_in_use": True}
"""Whether norms over a batch take what they remember of training."""


def _passes(params: dict[str, Any]) -> float:
    """Each batch once as it is and once sentence by sentence, in two modes."""
    return 4.0 * float(params["batches"])


@probes.register("batch_dependence", table="sites", passes=_passes, quantities=tuple(_QUANTITIES))
@torch.no_grad()
def batch_dependence(
    state: State,
    *,
    batches: Annotated[int, Field(ge=1)] = 1,
    split: Literal["train", "validation", "test"] = "train",
) -> Iterator[Row]:
    """``‖F(x | batch) - F(x | alone)‖ / ‖F(x | batch)‖``: how far an answer hangs on its batch (Wu and He, 2018).

    ``batch_dependence``: norms over a batch have its statistics, as in training; ``batch_dependence_in_use``: they have
    what they remember, as in evaluation. Dropout is off, and everything in float64.
    """
    at, found = doubles(state.model), state.batches(batches, split)
    for quantity, remembered in _QUANTITIES.items():
        with in_mode(state.model, training=False, remembered=remembered):
            value = _change(lambda batch: functional_call(state.model, at, (batch,)), found)
        yield {"quantity": quantity, "value": value}


def _change(answered: Callable[[Batch], Tensor], batches: list[Batch]) -> float:
    """Over all sentences of the batches."""
    moved = size = 0.0
    for batch in batches:
        together = answered(batch)
        for row in range(len(together)):
            lonely = answered(alone(batch, row))[0]
            held = together[row][: len(lonely)]  # of padding nothing is asked
            moved += (held - lonely).square().sum().item()
            size += held.square().sum().item()
    return sqrt(moved / size) if size else 0.0


def alone(batch: Batch, row: int) -> Batch:
    """One sentence of a batch, without its padding."""
    source, target_in = (
        tokens[row : row + 1, : int((tokens[row] != PAD).sum())] for tokens in (batch.source, batch.target_in)
    )
    return Batch(source, target_in, batch.target_out[row : row + 1])
