"""``E ‖F(x, θ_t) - F(x, θ_(t-1))‖²``: what the last update did to the output (after Liu et al., 2020, Section 4.2).

F is what a stack gives on, after its last norm, of the same batches before and after the update; all parameters move as
the optimizer moved them. ‖ΔF‖²/‖Δθ‖² takes the length of the update out of it. While updates are small this is what the
model amplifies; where they are not, it falls, as the output of a norm is bounded. In float64.
"""

from collections.abc import Iterator
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch.func import functional_call

from lnlab.measured.outputs import UPDATE_EFFECT
from lnlab.probes.probe import State, evaluating, probes
from lnlab.probes.support.float64_copy import StackOutputs, doubles
from lnlab.probes.support.token_masks import token_masks
from lnlab.probes.support.training_state import last_update
from lnlab.tables import Row

_CHANGE, _AMPLIFICATION = UPDATE_EFFECT


@probes.register(
    "update_effect",
    table="sites",
    passes=lambda choice: 2.0 * choice["batches"],
    quantities=UPDATE_EFFECT,
    trained=True,
    update=True,
)
def update_effect(
    state: State,
    *,
    batches: Annotated[int, Field(ge=1)] = 1,
    split: Literal["train", "validation", "test"] = "train",
) -> Iterator[Row]:
    """``E‖F(x, θ_t) - F(x, θ_(t-1))‖²``, over ``‖Δθ‖²``: change of the output by the last update (Liu et al., 2020).

    Of each stack's output, a mean over tokens: ``output_change_update``; over the squared length of the update of all
    parameters, ``update_amplification``, which an update of length 0 does not have. Dropout is off.

    Raises:
        LabError: no update was made.
    """
    update, _ = last_update(state)
    f = StackOutputs(state.model)
    names = {id(p): name for name, p in state.model.named_parameters()}
    now = doubles(f)
    moved = {name: update[names[id(p)]].double() for name, p in f.named_parameters()}
    before = now | {name: now[name] - delta for name, delta in moved.items()}
    squared_length = sum(float(delta.square().sum()) for delta in moved.values())
    sums = dict.fromkeys(f.stack_names, 0.0)
    tokens = dict.fromkeys(f.stack_names, 0)
    with evaluating(state.model), torch.no_grad():
        for batch in state.batches(batches, split):
            masks = token_masks(batch)
            after, earlier = (functional_call(f, at, (batch,)) for at in (now, before))
            for stack in f.stack_names:
                change = (after[stack] - earlier[stack])[masks[stack]]
                sums[stack] += float(change.square().sum())
                tokens[stack] += len(change)
    for stack in f.stack_names:
        at = {"stack": stack, "layer": None, "sublayer": None, "tensor": "out"}
        mean = sums[stack] / tokens[stack]
        yield {"quantity": _CHANGE, **at, "value": mean}
        if squared_length:
            yield {"quantity": _AMPLIFICATION, **at, "value": mean / squared_length}
