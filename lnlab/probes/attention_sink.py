"""``p_1``, ``‖q‖``, ``‖k‖``, ``‖v‖``: how much attention falls on the first key, and the sizes that make it so.

Models learn to attend to their first token where a head has nothing to say (Xiao et al., 2024), and its value vectors
become small (Gu et al., 2025). Measured wherever a model calls ``scaled_dot_product_attention``, see
``support.attention_calls``; queries and keys are those of the call, after any rotation or norm.
"""

from collections.abc import Iterator
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor

from lnlab.probes.probe import State, once, probes
from lnlab.probes.support.attention_calls import AttentionCall, reduced_calls
from lnlab.probes.support.known_sites import attention_heads
from lnlab.tables import Row
from lnlab.vocabulary.attention import ATTENTION_SINK

_QUANTITIES = tuple(ATTENTION_SINK)


@probes.register(
    "attention_sink",
    table="sites",
    passes=once,
    quantities=ATTENTION_SINK,
    sites=lambda model, _: attention_heads(_QUANTITIES, model),
    any_model=lambda _: True,
    in_float32=True,
)
def attention_sink(
    state: State,
    *,
    batches: Annotated[int, Field(ge=1)] = 1,
    split: Literal["train", "validation", "test"] = "train",
) -> Iterator[Row]:
    """``E[p_1], E‖q‖, E‖k‖, E‖v‖``: attention on the first key, and norms of queries, keys, values (Xiao et al., 2024).

    Means over the queries of all batches that see a key, padding left out, and over the keys that some query sees.
    ``index`` is the head, from 1. A query that sees the first key alone counts as any other. Dropout is off.

    Raises:
        LabError: the model never calls ``scaled_dot_product_attention``, or which queries are padding is not known.
    """
    for site, parts in reduced_calls(state, batches, split, "attention_sink", _sums):
        share, query, key, value, queries, keys = torch.stack(parts).sum(0)
        means = (share / queries, query / queries, key / keys, value / keys)
        for quantity, values in zip(_QUANTITIES, means, strict=True):
            for head, number in enumerate(values.tolist(), 1):
                yield {"quantity": quantity, **site.row(), "index": head, "value": number}


def _sums(call: AttentionCall) -> Tensor:
    """Sums of the first weight and of the norms of queries, keys and values, and how many of each: (6, heads)."""
    first = call.logits.softmax(-1)[..., 0]
    at_queries = (first, call.query.float().norm(dim=-1), torch.ones_like(first))
    at_keys = (call.key.float().norm(dim=-1), call.value.float().norm(dim=-1), torch.ones_like(first[..., :1]))
    share, query, queries = (torch.where(call.sees, x, 0.0).sum((1, 2)) for x in at_queries)
    key, value, keys = (torch.where(call.seen, x, 0.0).sum((1, 2)) for x in at_keys)
    return torch.stack((share, query, key, value, queries, keys))
