"""A model as a function of its weights, in float64, without changing the model."""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress

from torch import Tensor, nn
from torch.func import jvp
from torch.nn.attention import SDPBackend, sdpa_kernel

from lnlab.nn.transformer import stacks
from lnlab.probes.probe import evaluating
from lnlab.tasks.task import Batch, Task


@contextmanager
def forward_differentiable(model: nn.Module) -> Iterator[None]:
    """Use evaluation mode, and formulas of attention that have forward and batched derivatives, inside the block."""
    with evaluating(model), sdpa_kernel(SDPBackend.MATH):
        yield


def doubles(module: nn.Module) -> dict[str, Tensor]:
    """Parameters and buffers by name, as ``torch.func.functional_call`` takes them. A tied one comes once."""
    parameters = {name: p.detach().double() for name, p in module.named_parameters()}
    return parameters | {name: b.double() if b.is_floating_point() else b for name, b in module.named_buffers()}


def value_and_change(
    f: Callable[[Mapping[str, Tensor]], dict[str, Tensor]], at: Mapping[str, Tensor], delta: Mapping[str, Tensor]
) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """``f(at)`` and ``J delta``, in one forward pass."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "`torch.jit", DeprecationWarning)  # torch's own, when it first loads this
        value_and_tangent = jvp(f, (dict(at),), (dict(delta),))
    return value_and_tangent[0], value_and_tangent[1]


class StackOutputs(nn.Module):
    """A model as a function from a batch to each stack's output after its last norm: (batch, length, width), by name.

    The pass ends at the last of ``stack_names``.
    """

    def __init__(self, model: nn.Module, stack_names: Sequence[str] | None = None) -> None:
        super().__init__()
        self.model = model
        self.stack_names = list(stacks(model)) if stack_names is None else stack_names

    def forward(self, batch: Batch) -> dict[str, Tensor]:
        """One forward pass of the model, or of its first part."""
        seen: dict[str, Tensor] = {}

        def record(name: str, y: Tensor) -> None:
            seen[name] = y
            if len(seen) == len(self.stack_names):
                raise _AllRecorded

        with ExitStack() as hooks, suppress(_AllRecorded):
            for name in self.stack_names:
                stack = self.model.get_submodule(name)
                hooks.callback(stack.register_forward_hook(lambda _m, _x, y, name=name: record(name, y)).remove)
            self.model(batch)
        return seen


class _AllRecorded(Exception):
    """Signals that every requested output has been recorded."""


class SummedLoss(nn.Module):
    """A model as a function from a batch to the sum of the task's loss over it, in nats."""

    def __init__(self, model: nn.Module, task: Task) -> None:
        super().__init__()
        self.model = model
        self.task = task

    def forward(self, batch: Batch) -> Tensor:
        """One forward pass of the model."""
        return self.task.loss(self.model, batch)[0]
