"""Where a run is computed, ``train.device``, and in which numbers its updates are, ``train.precision``.

Random numbers are drawn on the CPU and then moved, so that a run starts from the same values on every device. With
``bfloat16`` the forward pass of an update runs under autocast. Weights, gradients, the optimizer, the loss and all that
probes measure stay in float32.
"""

import os
from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from typing import Any, cast

import torch

from lnlab.compile.work import ResolvedSetting
from lnlab.errors import LabError
from lnlab.execute.pool import VISIBLE_GPUS
from lnlab.issues import Issue
from lnlab.tasks.task import Batch, Task

_MASTER = {"float32": torch.float32, "bfloat16": torch.float32, "float64": torch.float64}


def device_kind(setting: ResolvedSetting) -> str:
    """The device of a setting: ``cpu`` (the default), ``cuda`` or ``mps``."""
    return _train_value(setting, "device", "cpu")


def _train_value(setting: ResolvedSetting, word: str, default: str) -> str:
    return str((setting.get("train") or {}).get(word, default))


def weight_format(setting: ResolvedSetting) -> torch.dtype:
    """The number format of weights, gradients and optimizer. Values are drawn in float32 and then cast."""
    return _MASTER[_train_value(setting, "precision", "float32")]


def device_of(setting: ResolvedSetting) -> torch.device:
    """The device of a setting, made ready: matrix products in float32 as they are, and the same bits each time.

    Raises:
        LabError: it is not there.
    """
    device = torch.device(device_kind(setting))
    require_devices([device.type])
    if device.type == "cuda":
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # read when the first product is made
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
        # Not `warn_only`: with it, attention takes its backward pass from kernels whose bits vary.
        torch.use_deterministic_algorithms(True)
        torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]  # a write of all of it
    return device


@contextmanager
def without_tf32() -> Iterator[None]:
    """Turn off TF32 for products and convolutions on a GPU while the context is open."""
    backends: Any = (torch.backends.cuda.matmul, torch.backends.cudnn)
    before = [backend.allow_tf32 for backend in backends]
    try:
        for backend in backends:
            backend.allow_tf32 = False
        yield
    finally:
        for backend, allowed in zip(backends, before, strict=True):
            backend.allow_tf32 = allowed


def require_devices(kinds: Collection[str]) -> None:
    """Refuse devices that this machine lacks.

    Raises:
        LabError: which, and what it has.
    """
    present = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    for kind in sorted(set(kinds)):
        if not present[kind]:
            known = " or ".join(word for word, there in present.items() if there)
            remedy = f"write train.device: {known}, or run it on a machine that has one"
            raise LabError(Issue("failed", "train.device", f"torch sees no {kind} device on this machine", remedy))


def gpu_memories() -> list[int]:
    """Bytes of each GPU that this process sees, free or not: what is free depends on the moment."""
    return [torch.cuda.get_device_properties(number).total_memory for number in range(torch.cuda.device_count())]


def visible_gpu(number: int) -> str:
    """What a process that is to see this GPU alone has as CUDA_VISIBLE_DEVICES: there it has the number 0."""
    names = [name.strip() for name in os.environ.get(VISIBLE_GPUS, "").split(",")]
    return names[number] if names != [""] else str(number)


def autocast(setting: ResolvedSetting) -> AbstractContextManager[Any]:
    """The context of the forward pass of an update."""
    half = _train_value(setting, "precision", "float32") == "bfloat16"
    return torch.autocast(device_kind(setting), torch.bfloat16) if half else nullcontext()


def placed(task: Task, device: torch.device) -> Task:
    """The task with its batches moved to a device. On the CPU the task itself is returned."""
    return task if device.type == "cpu" else cast("Task", _PlacedTask(task, device))


class _PlacedTask:
    """A task, whatever its kind, whose batches are moved as they are read."""

    def __init__(self, task: Task, device: torch.device) -> None:
        self._task = task
        self._device = device

    @property  # type: ignore[misc]  # a type that is read only, so that ``isinstance`` sees what the task is
    def __class__(self) -> type:
        return type(self._task)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._task, name)

    def batches(self, split: str, purpose: str, epoch: int = 0) -> Iterator[Batch]:
        """The task's batches, moved to the device. Copies to a GPU are asynchronous, from pinned memory."""
        for batch in self._task.batches(split, purpose, epoch):
            tokens = {name: getattr(batch, name) for name in ("source", "target_in", "target_out")}
            if self._device.type == "cuda":
                tokens = {name: x.pin_memory() for name, x in tokens.items()}
            moved = replace(batch, **{name: x.to(self._device, non_blocking=True) for name, x in tokens.items()})
            vars(moved)["tokens"] = batch.tokens  # counted before the move: who counts on a GPU waits for it
            yield moved
