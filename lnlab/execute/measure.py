"""Apply a probe to a state and make sure that it leaves no trace."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from itertools import chain
from typing import NamedTuple

import torch
from torch import Tensor, nn

from lnlab.compile.resolve.choices import Registries
from lnlab.compile.work import Measurement
from lnlab.errors import LabError
from lnlab.execute.freed_memory import release_memory
from lnlab.execute.tensor_images import Images, changed_names, images_of
from lnlab.issues import Issue
from lnlab.probes.probe import State, rows_of_probe
from lnlab.tables import Row


def measure(
    state: State, measurement: Measurement, registries: Registries, guard: "StateGuard | None" = None
) -> tuple[str, list[Row]]:
    """Run one probe on a state.

    Args:
        state: to measure.
        measurement: the probe, with the step and the key of the measurement.
        registries: of every kind.
        guard: of this state, shared by several measurements of it. None makes a new one.

    Returns:
        The table that the probe writes, and its rows. Rows of a curve have the step, others the key of the measurement.

    Raises:
        LabError: the probe changed the state, or yields rows that its table or its declaration has not.
    """
    kind = measurement.probe["kind"]
    untouched = registries["probe"][kind].facts.of_training(measurement.probe)
    with nullcontext() if untouched else (guard or StateGuard(state.model)).no_trace(kind):
        rows = rows_of_probe(registries["probe"], measurement.probe, state)
    if registries["probe"][kind].facts.memory is not None:
        release_memory()
    table: str = registries["probe"][kind].facts.table
    address = {"step": measurement.step} if table == "curves" else {"measurement": measurement.key}
    return table, [{**address, **row} for row in rows]


class StateGuard:
    """Compares a model after each probe of one state with what it was before the first."""

    def __init__(self, model: nn.Module) -> None:
        self.model = model
        self._listing: _Listing | None = None
        self._before: Images | None = None

    @contextmanager
    def no_trace(self, probe: str) -> Iterator[None]:
        """Restore gradients, modes and the default generator after a probe.

        Raises:
            LabError: it changed a parameter or a buffer, which is not restored.
        """
        modules, parameters, tensors = self._listing or _listed(self.model)
        before = images_of(tensors) if self._before is None else self._before
        gradients = [(p, p.grad, None if p.grad is None else p.grad.clone()) for p in parameters]
        required = [p.requires_grad for p in parameters]
        modes = [module.training for module in modules]
        with torch.random.fork_rng(devices=[device for device, _ in before if device.type == "cuda"]):
            try:
                yield
            finally:
                for module, mode in zip(modules, modes, strict=True):
                    if module.training != mode:
                        module.training = mode
                for (parameter, gradient, copy), requires in zip(gradients, required, strict=True):
                    if parameter.requires_grad != requires:
                        parameter.requires_grad_(requires)
                    if gradient is not None and copy is not None:
                        gradient.copy_(copy)
                    if parameter.grad is not gradient:
                        parameter.grad = gradient
        self._listing = _listed(self.model)
        after = self._before = images_of(self._listing.tensors)
        if changed := changed_names(before, after):
            what = f"the probe '{probe}' changed the state: {', '.join(changed[:3])}"
            raise LabError(Issue("failed", "", what, "a probe must not change the model; fix the probe"))


class _Listing(NamedTuple):
    """Every module, every parameter once, and these and the buffers by name."""

    modules: list[nn.Module]
    parameters: list[nn.Parameter]
    tensors: dict[str, Tensor]


def _listed(model: nn.Module) -> _Listing:
    """What a model has, in one walk, as each costs as much as a layer."""
    modules: list[nn.Module] = []
    parameters: list[nn.Parameter] = []
    names: dict[Tensor, str] = {}
    for prefix, module in model.named_modules():
        modules.append(module)
        parameters += (p for p in module._parameters.values() if p is not None and p not in names)
        for name, tensor in chain(module._parameters.items(), module._buffers.items()):
            if tensor is not None:
                names.setdefault(tensor, f"{prefix}.{name}" if prefix else name)
    return _Listing(modules, parameters, {name: tensor for tensor, name in names.items()})
