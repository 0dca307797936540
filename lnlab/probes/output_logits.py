"""``log Z = log Σ_v exp(logit_v)`` of the output, which cross-entropy leaves free and the z-loss keeps near 0.

Cross-entropy is invariant to a constant added to all logits, so that log Z may drift freely. Where it does, 16-bit
numbers lose the differences that matter (Chowdhery et al., 2022, Section 5; Wortsman et al., 2023, Section 3.1.2).
"""

import math
from collections.abc import Iterator
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor

from lnlab.corpora.vocabulary.tokenizers import PAD
from lnlab.probes.probe import State, evaluating, once, probes
from lnlab.probes.support.known_sites import of_the_model
from lnlab.tables import Row
from lnlab.vocabulary.outputs import OUTPUT_LOGITS

_MEAN, _SIZE, _LARGEST = OUTPUT_LOGITS


@probes.register(
    "output_logits",
    table="sites",
    passes=once,
    quantities=OUTPUT_LOGITS,
    sites=lambda *_: of_the_model(tuple(OUTPUT_LOGITS)),
    in_float32=True,
)
@torch.no_grad()
def output_logits(
    state: State,
    *,
    batches: Annotated[int, Field(ge=1)] = 1,
    split: Literal["train", "validation", "test"] = "train",
) -> Iterator[Row]:
    """``E log Z, sqrt(E (log Z)²), max |logit|``: of the output's softmax (Chowdhery et al., 2022, Section 5).

    Over the targets of all batches, padding left out; of labels, over sentences. The z-loss is the square of the
    second, times its weight. Dropout is off.
    """
    values = []
    with evaluating(state.model):
        for batch in state.batches(batches, split):
            logits: Tensor = state.model(batch).float()
            if batch.target_out.dim() > 1:
                logits = logits[batch.target_out != PAD]
            log_z = logits.logsumexp(-1)
            values.append(torch.stack([log_z, log_z.square(), logits.abs().amax(-1)]))
    log_z, squared, largest = torch.cat(values, 1)
    yield {"quantity": _MEAN, "value": log_z.mean().item()}
    yield {"quantity": _SIZE, "value": math.sqrt(squared.mean().item())}
    yield {"quantity": _LARGEST, "value": largest.max().item()}
