"""``θ -> Σ loss(θ) / Σ tokens, ∇``: the loss of the next update as a function of the parameters, with all else fixed.

Every evaluation uses the batches of the update and their dropout. The model is in training mode, but works on other
tensors than its own, so that neither a parameter nor a buffer (running statistics) ever changes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.func import functional_call

from lnlab.nn.modes import in_mode
from lnlab.nn.seeding import restored_generators, seed_dropout
from lnlab.probes.probe import State
from lnlab.probes.support.loss_gradients import accumulator, gradients_of
from lnlab.probes.support.training_state import require
from lnlab.tasks.task import Batch, Task


@dataclass(frozen=True)
class LossAndGradient:
    """Loss and gradient at one point in the space of the trained parameters.

    Attributes:
        loss: nats per token.
        gradient: one tensor per parameter.
    """

    loss: float
    gradient: list[Tensor]


class NextUpdateLoss:
    """The loss of the next update.

    Attributes:
        start: the present values of the trained parameters.
    """

    def __init__(self, state: State) -> None:
        """Raises LabError where no update will be made."""
        self.state = state
        self.batches: Sequence[Batch] = require(state.next_batches, "the batches of the next update")()
        self._summed = _SummedLoss(state.model, state.task)
        trained = {name: p for name, p in self._summed.named_parameters() if p.requires_grad}
        self._names = list(trained)
        self.start = [p.detach() for p in trained.values()]

    def at(self, parameters: Sequence[Tensor]) -> LossAndGradient:
        """Loss and gradient at other values of the trained parameters, tensors of the shapes of ``start``, in order."""
        leaves = [p.detach().requires_grad_() for p in parameters]
        sums = [accumulator(p) for p in parameters]
        total, count = 0.0, 0
        device = parameters[0].device
        with restored_generators(device), in_mode(self.state.model, training=True), torch.enable_grad():
            for number, batch in enumerate(self.batches):
                seed_dropout(self.state.draw("dropout", self.state.step + 1, number), device)
                # Copies, so that running statistics of a batch norm are lost with them.
                buffers = {name: buffer.clone() for name, buffer in self._summed.named_buffers()}
                tensors = buffers | dict(zip(self._names, leaves, strict=True))
                loss, units = functional_call(self._summed, tensors, (batch,))
                torch._foreach_add_(sums, gradients_of(loss, leaves))
                total, count = total + loss.item(), count + units
        return LossAndGradient(total / count, [part / count for part in sums])


class _SummedLoss(nn.Module):
    """Map a batch to the sum of the task's loss, and its count."""

    def __init__(self, model: nn.Module, task: Task) -> None:
        super().__init__()
        self.model = model
        self.task = task

    def forward(self, batch: Batch) -> tuple[Tensor, int]:
        """One forward pass of the model."""
        return self.task.loss(self.model, batch)


def joint_norm(tensors: Sequence[Tensor]) -> float:
    """The norm of all tensors as one vector, in float64."""
    return torch.stack([t.double().square().sum() for t in tensors]).sum().sqrt().item()
