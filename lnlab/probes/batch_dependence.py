"""``‖F(x | batch) - F(x | alone)‖ / ‖F(x | batch)‖``: how a sentence's logits depend on the others of its batch.

With a norm over the coordinates of a token, or over the tokens of a sentence, each sentence has the logits that it
would have alone. With a norm over a batch it does not, as long as the norm uses the statistics of the batch. F is all
logits of a sentence, which alone has no padding. The squared norms are summed over sentences. The computation is in
float64, so that logits that do not depend on the batch differ only by rounding.
"""

from collections.abc import Iterable, Iterator, Mapping
from math import sqrt
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor
from torch.func import functional_call

from lnlab.nn.masks import PAD_TOKEN
from lnlab.nn.modes import in_mode
from lnlab.probes.probe import State, probes
from lnlab.probes.support.float64_copy import doubles
from lnlab.probes.support.known_sites import of_the_model
from lnlab.tables import Row
from lnlab.tasks.task import Batch
from lnlab.vocabulary.norms import BATCH_DEPENDENCE

_QUANTITIES: Mapping[str, bool] = {"batch_dependence": False, "batch_dependence_in_use": True}
"""Whether norms over a batch use their running statistics."""


@probes.register(
    "batch_dependence",
    table="sites",
    passes=lambda choice: 4.0 * choice["batches"],  # as a batch and sentence by sentence, in two modes
    quantities=BATCH_DEPENDENCE,
    sites=lambda *_: of_the_model(tuple(BATCH_DEPENDENCE)),
)
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
    weights = doubles(state.model)
    sampled = state.batches(batches, split)
    for quantity, remembered in _QUANTITIES.items():
        with in_mode(state.model, training=False, remembered=remembered):
            pairs = (
                (in_batch[: len(alone)], alone)  # alone it has no padding, and so fewer positions
                for batch in sampled
                for row, in_batch in enumerate(functional_call(state.model, weights, (batch,)))
                for alone in functional_call(state.model, weights, (single_sentence(batch, row),))
            )
            value = relative_distance(pairs)
        yield {"quantity": quantity, "value": value}


def relative_distance(pairs: Iterable[tuple[Tensor, Tensor]]) -> float:
    """``sqrt(Σ‖a - b‖² / Σ‖a‖²)`` over pairs (a, b) of tensors of one shape, or 0 if every a is 0."""
    moved = size = 0.0
    for one, other in pairs:
        moved += (one - other).square().sum().item()
        size += one.square().sum().item()
    return sqrt(moved / size) if size else 0.0


def single_sentence(batch: Batch, row: int) -> Batch:
    """One sentence of a batch, without its padding."""
    source, target_in = (
        tokens[row : row + 1, : int((tokens[row] != PAD_TOKEN).sum())] for tokens in (batch.source, batch.target_in)
    )
    return Batch(source, target_in, batch.target_out[row : row + 1])
