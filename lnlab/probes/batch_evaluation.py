"""``L = Σ loss / Σ tokens`` over a whole split, where batch norms use the statistics of each batch, as in training.

Its difference from ``evaluation`` is due to running statistics. For a model without batch norms both are the same. The
sentences of a batch are drawn once for each seed.
"""

from collections.abc import Iterator
from typing import Literal

import torch

from lnlab.nn.modes import in_mode
from lnlab.probes.evaluation import scored
from lnlab.probes.probe import State, probes
from lnlab.tables import Row
from lnlab.vocabulary.training import BATCH_EVALUATION_CURVES

_QUANTITIES = dict(zip(("nll", "accuracy"), BATCH_EVALUATION_CURVES, strict=True))


@probes.register(
    "batch_evaluation",
    table="curves",
    passes=lambda _: 1.0,
    whole_split=True,
    quantities=BATCH_EVALUATION_CURVES,
    in_float32=True,
)
@torch.no_grad()
def batch_evaluation(state: State, *, split: Literal["train", "validation", "test"] = "validation") -> Iterator[Row]:
    """``Σ nll / Σ tokens``: over a split, batch norms with each batch's statistics (Ioffe and Szegedy, 2015).

    As ``evaluation`` in all else: dropout is off, ``batch_nll`` is never smoothed, in nats a token or a sentence.
    """
    with in_mode(state.model, training=False):
        for quantity, value in scored(state, split).items():
            if quantity in _QUANTITIES:
                yield {"split": split, "quantity": _QUANTITIES[quantity], "value": value}
