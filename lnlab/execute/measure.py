"""Apply a probe to a state and make sure that it leaves no trace."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain

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


@dataclass(frozen=True)
class _Image:
    """The bits of some tensors of one device, end to end: one comparison costs far less than one for each tensor."""

    layout: dict[str, tuple[torch.Size, torch.dtype]]
    bits: Tensor

    def parts(self) -> dict[str, tuple[torch.Size, torch.dtype, Tensor]]:
        """By name again."""
        lengths = [shape.numel() * dtype.itemsize for shape, dtype in self.layout.values()]
        pieces = zip(self.layout.items(), torch.split(self.bits, lengths), strict=True)
        return {name: (*form, piece) for (name, form), piece in pieces}


@contextmanager
def no_trace(model: nn.Module, probe: str) -> Iterator[None]:
    """Inside, a probe may change gradients, modes and the default generator: they are restored on leaving.

    Raises:
        LabError: it changed a parameter or a buffer, which is not restored.
    """
    modules, tensors = _listed(model)
    before = _images(tensors)
    parameters = [t for t in tensors.values() if isinstance(t, nn.Parameter)]
    gradients = {p: p.grad for p in parameters}
    saved_gradients = {p: g.clone() for p, g in gradients.items() if g is not None}
    modes = {module: module.training for module in modules}
    required = {p: p.requires_grad for p in parameters}
    with torch.random.fork_rng(devices=_gpus(before)):
        try:
            yield
        finally:
            for module, mode in modes.items():
                if module.training != mode:
                    module.training = mode
            for parameter, gradient in gradients.items():
                if parameter.requires_grad != required[parameter]:
                    parameter.requires_grad_(required[parameter])
                if gradient is not None:
                    gradient.copy_(saved_gradients[parameter])
                if parameter.grad is not gradient:
                    parameter.grad = gradient
    if changed := _changed(before, _images(_listed(model)[1])):
        what = f"the probe '{probe}' changed the state: {', '.join(changed[:3])}"
        raise LabError(Problem("", what, "a probe may look and not touch; mend the probe"))


def _listed(model: nn.Module) -> tuple[list[nn.Module], dict[str, Tensor]]:
    """Every module, and every parameter and buffer once, by name; in one walk, as each costs as much as a layer."""
    modules: list[nn.Module] = []
    names: dict[Tensor, str] = {}
    for prefix, module in model.named_modules():
        modules.append(module)
        for name, tensor in chain(module._parameters.items(), module._buffers.items()):
            if tensor is not None:
                names.setdefault(tensor, f"{prefix}.{name}" if prefix else name)
    return modules, {name: tensor for tensor, name in names.items()}


def _images(tensors: Mapping[str, Tensor]) -> dict[torch.device, _Image]:
    """Tensors as they are now, by device."""
    by_device: dict[torch.device, dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        by_device.setdefault(tensor.device, {})[name] = tensor.detach()
    return {
        device: _Image(
            {name: (t.shape, t.dtype) for name, t in named.items()},
            torch.cat([t.flatten().view(torch.uint8) for t in named.values()]),
        )
        for device, named in by_device.items()
    }


def _gpus(images: Collection[torch.device]) -> list[torch.device]:
    """The GPUs that the model is on, each with a generator of its own."""
    return [device for device in images if device.type == "cuda"]


def _changed(before: dict[torch.device, _Image], after: dict[torch.device, _Image]) -> list[str]:
    """The names of what is not as before to the last bit, so that a NaN equals itself."""
    if before.keys() == after.keys() and all(
        a.layout == after[device].layout and _equal(a.bits, after[device].bits) for device, a in before.items()
    ):
        return []
    earlier, later = (
        {name: part for image in images.values() for name, part in image.parts().items()} for images in (before, after)
    )
    return sorted(name for name in earlier.keys() | later.keys() if not _same(earlier.get(name), later.get(name)))


def _same(a: tuple[torch.Size, torch.dtype, Tensor] | None, b: tuple[torch.Size, torch.dtype, Tensor] | None) -> bool:
    if a is None or b is None:
        return False
    return a[:2] == b[:2] and a[2].device == b[2].device and torch.equal(a[2], b[2])


def _equal(a: Tensor, b: Tensor) -> bool:
    """Whether equally many bytes are the same; in the longest words that they come out even in, as bytes are slow."""
    word = next(w for w in (torch.int64, torch.int32, torch.int16, torch.uint8) if a.numel() % w.itemsize == 0)
    return torch.equal(a.view(word), b.view(word))
