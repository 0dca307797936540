"""``max q·k/√d`` and ``-Σ p log p``: the sharpness of attention, by head and layer (Zhai et al., 2023).

Where logits grow without bound, the entropy of the weights collapses, and training diverges soon after. Both are
measured wherever a model calls ``scaled_dot_product_attention``, see ``support.attention_calls``.
"""

import math
from collections.abc import Iterator
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor

from lnlab.probes.probe import State, once, probes
from lnlab.probes.support.attention_calls import AttentionCall, reduced_calls
from lnlab.probes.support.known_sites import attention_heads
from lnlab.tables import Row
from lnlab.vocabulary.attention import ATTENTION_LOGITS

_LARGEST, _ENTROPY = ATTENTION_LOGITS


@probes.register(
    "attention_logits",
    table="sites",
    passes=once,
    quantities=ATTENTION_LOGITS,
    sites=lambda model, _: attention_heads(tuple(ATTENTION_LOGITS), model),
    any_model=lambda _: True,
    in_float32=True,
)
def attention_logits(
    state: State,
    *,
    batches: Annotated[int, Field(ge=1)] = 1,
    split: Literal["train", "validation", "test"] = "train",
) -> Iterator[Row]:
    """``max q·k/√d, E[-Σ p log p]``: largest logit and entropy of attention, by head (Zhai et al., 2023, Section 3).

    Over the queries of all batches, padding left out, and the keys that a query may see; a query that sees none is left
    out. ``index`` is the head, from 1. Dropout is off.

    Raises:
        LabError: the model never calls ``scaled_dot_product_attention``, or which queries are padding is not known.
    """
    for site, parts in reduced_calls(state, batches, split, "attention_logits", _statistics):
        largest = torch.stack([part[0] for part in parts]).amax(0)
        entropy, queries = torch.stack([part[1:] for part in parts]).sum(0)
        for quantity, values in ((_LARGEST, largest), (_ENTROPY, entropy / queries)):
            for head, value in enumerate(values.tolist(), 1):
                if math.isfinite(value):
                    yield {"quantity": quantity, **site.row(), "index": head, "value": value}


def _statistics(call: AttentionCall) -> Tensor:
    """The largest logit, the sum of entropies, and the number of queries of each head: (3, heads)."""
    weights = call.logits.log_softmax(-1).nan_to_num(neginf=0.0)
    entropy = -(weights.exp() * weights).masked_fill(call.logits.isneginf(), 0.0).sum(-1)
    totals = torch.where(call.sees, entropy, 0.0).sum((1, 2))
    return torch.stack((call.logits.amax((1, 2, 3)), totals, call.sees.sum((1, 2)).float()))
