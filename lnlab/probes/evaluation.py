"""``L = Σ loss / Σ tokens`` over a whole split: a mean over its tokens, not over the means of its batches.

The model is in evaluation mode: dropout is off, and norms over a batch use their running statistics.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Literal

import torch

from lnlab.probes.probe import State, probes
from lnlab.specfile.columns import EVALUATED
from lnlab.tables import Row
from lnlab.tasks.task import ENOUGH_BATCHES
from lnlab.vocabulary.training import EVALUATION_CURVES


@probes.register(
    "evaluation",
    table="curves",
    passes=lambda _: 1.0,
    whole_split=True,
    quantities=EVALUATION_CURVES,
    in_float32=True,
)
@torch.no_grad()
def evaluation(state: State, *, split: Literal["train", "validation", "test"] = "validation") -> Iterator[Row]:
    """``Σ loss / Σ tokens``: loss, and negative log-likelihood, over a whole split (Xiong et al., 2020, Figure 2).

    ``nll`` is never smoothed; both are in nats a token. For labels ``accuracy`` is the share of right ones. Of a task
    without an end, eight batches are read. The training split has no ``loss`` here: that curve is of training batches.
    """
    # Not `evaluating`, under which batch norms would use the batch; whoever measures a state restores its modes.
    state.model.eval()
    for quantity, value in scored(state, split).items():
        if split in EVALUATED[quantity]:
            yield {"split": split, "quantity": quantity, "value": value}


def scored(state: State, split: str) -> dict[str, float]:
    """The mean of each score over the tokens or sentences of a split, in the present mode of the model.

    Losses are in nats, and an accuracy is a share from 0 to 1. For an endless task ``ENOUGH_BATCHES`` are read.
    """
    model, task = state.model, state.task
    sums: dict[str, float] = {}
    units = 0
    for batch in islice(task.batches(split, "evaluation"), None if task.epoch_batches else ENOUGH_BATCHES):
        scores, number = task.scores(model, batch)
        units += number
        for quantity, total in scores.items():
            sums[quantity] = sums.get(quantity, 0.0) + float(total)
    return {quantity: summed / units for quantity, summed in sums.items()}
