"""``L = Σ nll / Σ tokens`` over a whole split, where norms over a batch take the statistics of the batch at hand.

That is the function which training makes small; ``evaluation`` scores the one that is used afterwards, with running
statistics. Without norms over a batch the two are the same, and what lies between them is what running statistics cost.
"""

from collections.abc import Iterator
from typing import Literal

import torch

from lnlab.probes.evaluation import PASSES, scored
from lnlab.probes.probe import State, evaluating, probes
from lnlab.tables import Row

QUANTITIES = ("nll_of_batch_statistics", "accuracy_of_batch_statistics")


@probes.register("batch_evaluation", table="sites", passes=lambda _: PASSES, quantities=QUANTITIES)
@torch.no_grad()
def batch_evaluation(state: State, *, split: Literal["train", "validation", "test"] = "validation") -> Iterator[Row]:
    """``Σ nll / Σ tokens``: over a whole split, with the statistics of each batch (Ioffe and Szegedy, 2015).

    ``nll_of_batch_statistics``, in nats, and for labels ``accuracy_of_batch_statistics``, as in ``evaluation`` and of
    the same batches. Dropout is off, and running statistics stay as they are.
    """
    with evaluating(state.model):
        means = scored(state, split)
    for quantity, name in zip(("nll", "accuracy"), QUANTITIES, strict=True):
        if quantity in means:
            yield {"quantity": name, "value": means[quantity]}
