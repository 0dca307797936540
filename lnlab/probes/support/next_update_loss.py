"""``θ -> Σ loss(θ) / Σ tokens, ∇``: the loss of the next update as a function of the parameters, frozen but for them.

The batches are the update's, and so is their dropout, at every evaluation. The model is in training mode, and works on
other tensors than its own: neither a parameter nor what a module remembers (running statistics) is ever moved.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.func import functional_call

from lnlab.nn.modes import in_mode
from lnlab.probes.probe import State
from lnlab.probes.support.training_state import there
from lnlab.tasks.task import Batch, Task


@dataclass(frozen=True)
class Point:
    """A place in the space of the parameters that are trained.

    Attributes:
        loss: nats per token.
        gradient: a tensor a parameter.
    """

    loss: float
    gradient: list[Tensor]


class NextLoss:
    """The loss of the next update.

    Attributes:
        start: the parameters that are trained, as they are now.
    """

    def __init__(self, state: State) -> None:
        """Raises LabError where no update will be made."""
        self.state = state
        self.batches: Sequence[Batch] = there(state.next_batches, "the batches of the next update")()
        self._summed = _Summed(state.model, state.task)
        trained = {name: p for name, p in self._summed.named_parameters() if p.requires_grad}
        self._names, self.start = list(trained), [p.detach() for p in trained.values()]

    def at(self, parameters: Sequence[Tensor]) -> Point:
        """Loss and gradient at other parameters."""
        leaves = [p.detach().requires_grad_() for p in parameters]
        sums = [torch.zeros_like(p) for p in parameters]
        total, count = 0.0, 0
        with torch.random.fork_rng(devices=[]), in_mode(self.state.model, training=True), torch.enable_grad():
            for number, batch in enumerate(self.batches):
                torch.default_generator.manual_seed(self.state.draw("dropout", self.state.step + 1, number))
                loss, units = functional_call(self._summed, self._given(leaves), (batch,))
                torch._foreach_add_(sums, torch.autograd.grad(loss, leaves, allow_unused=True, materialize_grads=True))
                total, count = total + loss.item(), count + units
        return Point(total / count, [part / count for part in sums])

    def _given(self, leaves: Sequence[Tensor]) -> dict[str, Tensor]:
        """Parameters by name, and a copy of what modules remember, so that what they add to it is forgotten."""
        remembered = {name: buffer.clone() for name, buffer in self._summed.named_buffers()}
        return remembered | dict(zip(self._names, leaves, strict=True))


class _Summed(nn.Module):
    """From a batch to the sum of the task's loss, and its count."""

    def __init__(self, model: nn.Module, task: Task) -> None:
        super().__init__()
        self.model, self.task = model, task

    def forward(self, batch: Batch) -> tuple[Tensor, int]:
        """One forward pass of the model."""
        return self.task.loss(self.model, batch)


def norm(tensors: Sequence[Tensor]) -> float:
    """Of all of them as one vector, in float64."""
    return torch.stack([t.double().square().sum() for t in tensors]).sum().sqrt().item()
