"""``E ‖F(x, θ_t) - F(x, θ_(t-1))‖²``: how the last update changed the output (after Liu et al., 2020, Section 4.2).

F is the output of a stack after its last norm, on the same batches before and after the update. All parameters move as
the optimizer moved them. ‖ΔF‖²/‖Δθ‖² removes the length of the update. For small updates this is the model's
amplification. For large ones it falls, as the output of a norm is bounded. The computation is in float64.

For a model from elsewhere F is the first tensor that it returns, in its own precision.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor
from torch.func import functional_call

from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.nn.site import AddressedModel, Site, first_tensor
from lnlab.nn.transformer import stacks
from lnlab.probes.probe import State, evaluating, probes
from lnlab.probes.support.float64_copy import StackOutputs, doubles
from lnlab.probes.support.known_sites import at_all_sites
from lnlab.probes.support.token_masks import token_masks
from lnlab.probes.support.training_state import last_update
from lnlab.tables import Row
from lnlab.vocabulary.outputs import UPDATE_EFFECT

_CHANGE, _AMPLIFICATION = UPDATE_EFFECT


@probes.register(
    "update_effect",
    table="sites",
    passes=lambda choice: 2.0 * choice["batches"],
    quantities=UPDATE_EFFECT,
    sites=lambda model, _: at_all_sites(
        tuple(UPDATE_EFFECT),
        [Site(None, None, "output", "out")]
        if isinstance(model, AddressedModel)
        else [Site(stack, None, None, "out") for stack in stacks(model)],
    ),
    trained=True,
    update=True,
    any_model=lambda _: True,
)
def update_effect(
    state: State,
    *,
    batches: Annotated[int, Field(ge=1)] = 1,
    split: Literal["train", "validation", "test"] = "train",
) -> Iterator[Row]:
    """``E‖F(x, θ_t) - F(x, θ_(t-1))‖²``, over ``‖Δθ‖²``: change of the output by the last update (Liu et al., 2020).

    Of each stack's output, a mean over tokens: ``output_change_update``; over the squared length of the update of all
    parameters, ``update_amplification``, which an update of length 0 does not have. Of a model from elsewhere the mean
    is over all places of what it returns. Dropout is off.

    Raises:
        LabError: no update was made.
    """
    update, _ = last_update(state)
    if isinstance(state.model, AddressedModel):
        yield from _change_of_any_model(state, state.model, update, batches, split)
        return
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


def _change_of_any_model(
    state: State, model: AddressedModel, update: Mapping[str, Tensor], batches: int, split: str
) -> Iterator[Row]:
    """Measure the change of any module's output, by undoing the update and making it again."""
    returned: list[Tensor] = []

    def keep(_module: object, _inputs: object, output: object) -> None:
        if (x := first_tensor(output)) is not None:
            returned.append(x.detach())

    parameters = dict(model.named_parameters())
    read = state.batches(batches, split)
    now: dict[str, Tensor] = {}
    hook = model.module.register_forward_hook(keep)
    try:
        with evaluating(model), torch.no_grad():
            for batch in read:
                state.task.loss(model, batch)
            now |= {name: parameters[name].clone() for name in update}
            for name, delta in update.items():
                parameters[name].sub_(delta)
            for batch in read:
                state.task.loss(model, batch)
    finally:
        hook.remove()
        # Copied, as adding the update again would round; also after an error, as the model may be in training.
        with torch.no_grad():
            for name, x in now.items():
                parameters[name].copy_(x)
    after, before = returned[: len(returned) // 2], returned[len(returned) // 2 :]
    if not after or any(x.dim() < 2 or x.shape != y.shape for x, y in zip(after, before, strict=True)):
        what = "update_effect needs a model that returns (batch, ..., width), the same for the same batch"
        raise LabError(Issue("unsupported", "update_effect", what, "leave the probe out"))
    changes = [(x.double() - y.double()).flatten(0, -2) for x, y in zip(after, before, strict=True)]
    mean = sum(float(change.square().sum()) for change in changes) / sum(len(change) for change in changes)
    squared_length = sum(float(delta.double().square().sum()) for delta in update.values())
    at = {"stack": None, "layer": None, "sublayer": "output", "tensor": "out"}
    yield {"quantity": _CHANGE, **at, "value": mean}
    if squared_length:
        yield {"quantity": _AMPLIFICATION, **at, "value": mean / squared_length}
