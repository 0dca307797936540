"""Apply a probe to a state and make sure that it leaves no trace."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from lnlab.compile.resolve.choices import Registries
from lnlab.compile.work import Measurement
from lnlab.errors import LabError, Problem
from lnlab.execute.freed_memory import give_back
from lnlab.probes.probe import State
from lnlab.tables import Row


def measure(state: State, measurement: Measurement, registries: Registries) -> tuple[str, list[Row]]:
    """The table that a probe writes, and its rows with the key of the measurement; those of a curve with its step.

    Raises:
        LabError: the probe changed the state.
    """
    kind = measurement.probe["kind"]
    with no_trace(state.model, kind):
        rows = list(registries["probe"].builder(measurement.probe)(state))
    if registries["probe"][kind].facts.memory is not None:
        give_back()
    table: str = registries["probe"][kind].facts.table
    address = {"step": measurement.step} if table == "curves" else {"measurement": measurement.key}
    return table, [{**address, **row} for row in rows]


@contextmanager
def no_trace(model: nn.Module, probe: str) -> Iterator[None]:
    """Inside, a probe may change gradients, modes and the default generator: they are restored on leaving.

    Raises:
        LabError: it changed a parameter or a buffer, which is not restored.
    """
    before = {name: tensor.clone() for name, tensor in _tensors(model).items()}
    gradients = {p: p.grad for p in model.parameters()}
    saved_gradients = {p: g.clone() for p, g in gradients.items() if g is not None}
    modes = {module: module.training for module in model.modules()}
    required = {p: p.requires_grad for p in model.parameters()}
    with torch.random.fork_rng(devices=_gpus(model)):
        try:
            yield
        finally:
            for module, mode in modes.items():
                module.training = mode
            for parameter, gradient in gradients.items():
                parameter.requires_grad_(required[parameter])
                parameter.grad = gradient if gradient is None else gradient.copy_(saved_gradients[parameter])
    if changed := sorted(name for name, tensor in _tensors(model).items() if not _same(tensor, before.get(name))):
        what = f"the probe '{probe}' changed the state: {', '.join(changed[:3])}"
        raise LabError(Problem("", what, "a probe may look and not touch; mend the probe"))


def _gpus(model: nn.Module) -> list[torch.device]:
    """The GPUs that the model is on, each with a generator of its own."""
    return list({tensor.device for tensor in _tensors(model).values() if tensor.device.type == "cuda"})


def _tensors(model: nn.Module) -> dict[str, Tensor]:
    return {name: t.detach() for name, t in (*model.named_parameters(), *model.named_buffers())}


def _same(tensor: Tensor, before: Tensor | None) -> bool:
    """Bit by bit, so that a NaN equals itself. A copy and a comparison cost a tenth of a digest."""
    if before is None or (tensor.shape, tensor.dtype) != (before.shape, before.dtype):
        return False
    return torch.equal(_bits(tensor), _bits(before))


def _bits(tensor: Tensor) -> Tensor:
    return tensor.contiguous().flatten().view(torch.uint8)
