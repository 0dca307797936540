"""``max_j ‖x_j‖``: the norms of the input vectors of a stack's first layer, of which DT-Fixup uses the largest.

The 99th percentile is the smallest norm that 99 % of the tokens do not exceed. Norms are in float64.
"""

import math
from collections.abc import Iterator
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor

from lnlab.nn.data import input_norms
from lnlab.nn.sites import Site
from lnlab.nn.transformer import stacks
from lnlab.probes.probe import State, probes
from lnlab.probes.support.known_sites import at_all_sites
from lnlab.tables import Row
from lnlab.vocabulary.hidden_states import INPUT_NORM

_QUANTITIES = tuple(INPUT_NORM)


@probes.register(
    "input_norm",
    table="sites",
    passes=lambda _: 0.0,
    reads=lambda params: params["batches"],
    quantities=INPUT_NORM,
    sites=lambda model, _: at_all_sites(_QUANTITIES, [Site(s, None, "embedding", "out") for s in stacks(model)]),
)
def input_norm(
    state: State,
    *,
    batches: Annotated[int, Field(ge=1)] | None = None,
    split: Literal["train", "validation", "test"] = "train",
) -> Iterator[Row]:
    """``max ‖x_j‖, E ‖x_j‖``: and the 99th percentile, over the input vectors of each stack (Xu et al., 2021).

    An input vector is a token's embedding with its position; padding is left out. ``batches: null`` reads every batch
    of an epoch: then the maximum is the mu of the init ``dt_fixup``.
    """
    norms_by_stack: dict[str, list[Tensor]] = {}
    for batch in state.read(batches, split):
        for stack, norms in input_norms(state.model, batch).items():
            norms_by_stack.setdefault(stack, []).append(norms)
    for stack, parts in norms_by_stack.items():
        norms = torch.cat(parts)
        values = (norms.max(), norms.mean(), norms.sort().values[math.ceil(0.99 * len(norms)) - 1])
        for quantity, value in zip(_QUANTITIES, values, strict=True):
            yield {"quantity": quantity, **Site(stack, None, "embedding", "out").row(), "value": value.item()}
