"""The parts of a state that exist only in training, and gradients by parameter name."""

from typing import TypeVar

import torch
from torch import Tensor

from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.probes.probe import State, evaluating
from lnlab.probes.support.loss_gradients import accumulator, gradients_of

_Value = TypeVar("_Value")


def require(value: _Value | None, what: str) -> _Value:
    """Return the value, which only a state in training has.

    Raises:
        LabError: it is None, as this state does not have it.
    """
    if value is None:
        raise LabError(
            Issue("unsupported", "", f"a probe asks for {what}, and this state has none", "measure it while it trains")
        )
    return value


def initial(state: State) -> dict[str, Tensor]:
    """The named parameters at step 0.

    Raises:
        LabError: the state has no initial parameters.
    """
    return require(state.initial, "the initial parameters")()


def last_update(state: State) -> tuple[dict[str, Tensor], float]:
    """The change of every parameter by the last update, by name, and its learning rate.

    Raises:
        LabError: no update was made.
    """
    return require(state.last_update, "the last update"), require(state.last_rate, "the rate of the last update")


def next_update_gradient(state: State) -> dict[str, Tensor]:
    """The gradient that the next update will use, by parameter name.

    Raises:
        LabError: no update will be made.
    """
    return require(state.next_gradient, "the gradient of the next update")()


def next_rate(state: State) -> float:
    """The learning rate of the next update.

    Raises:
        LabError: no update will be made.
    """
    group = require(state.optimizer, "an optimizer").param_groups[0]
    # `lr` is the rate of the last update, and the factor of a schedule is on the initial one.
    return float(group.get("initial_lr", group["lr"]) * (state.schedule(state.step + 1) if state.schedule else 1.0))


def mean_gradient(state: State, batches: int, split: str) -> dict[str, Tensor]:
    """Gradient of the loss per token over all of ``batches``, by parameter name. Dropout is off.

    Parameters that are frozen are left out.
    """
    leaves = {name: p for name, p in state.model.named_parameters() if p.requires_grad}
    sums = [accumulator(p) for p in leaves.values()]
    tokens = 0
    with evaluating(state.model), torch.enable_grad():
        for batch in state.batches(batches, split):
            loss, count = state.task.loss(state.model, batch)
            parts = gradients_of(loss, list(leaves.values()))
            torch._foreach_add_(sums, parts)
            tokens += count
            del loss, parts  # so that the next batch gets their memory and not fresh pages
    return {name: total / tokens for name, total in zip(leaves, sums, strict=True)}
