"""On what numbers are computed: processor, instructions and threads, which decide their last bits, and its room."""

import platform
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Protocol

import torch

from lnlab.compile.cost.cost import machine_memory
from lnlab.compile.cost.memory import MemoryPlan
from lnlab.execute.devices import gpu_memories, require_devices, visible_gpu
from lnlab.execute.executor import OpenExecutor
from lnlab.execute.pool import Workers, cores, threads

_CPU_INFO = Path("/proc/cpuinfo")


@cache
def device_name(kind: str = "cpu") -> str:
    """``cpu (x86_64, AMD EPYC, AVX512)``: architecture, model where the system names it, instruction set of torch.

    More threads than one in a worker follow, as sums depend on their number: ``cpu (x86_64, AVX512, 2 threads)``.
    Of a GPU its name: ``cuda (NVIDIA H100)``.
    """
    if kind != "cpu":
        present = kind == "cuda" and torch.cuda.is_available()
        return f"{kind} ({torch.cuda.get_device_name() if present else platform.machine()})"
    model = ""  # as Linux names it, or else as Python knows it
    if _CPU_INFO.is_file():
        lines = (line.partition(":") for line in _CPU_INFO.read_text(encoding="utf-8", errors="replace").splitlines())
        model = next((" ".join(value.split()) for key, _, value in lines if key.strip() == "model name"), "")
    names = [platform.machine(), model or platform.processor(), torch.backends.cpu.get_cpu_capability()]
    names += [f"{threads()} threads"] if threads() > 1 else []
    return f"cpu ({', '.join(dict.fromkeys(name for name in names if name))})"


class Machines(Protocol):
    """What units are computed on."""

    @property
    def workers(self) -> int:
        """How many workers there would be, were there memory for all."""
        ...

    @property
    def memory(self) -> int:
        """Bytes that they have together."""
        ...

    def require(self, devices: Collection[str]) -> None:
        """Refuse devices that are not there.

        Raises:
            LabError: which, and what there is.
        """
        ...

    def gpus(self, devices: Collection[str]) -> Sequence[int]:
        """Bytes of each GPU that workers share, where units are on GPUs."""
        ...

    def executor(self, folder: Path, plan: MemoryPlan, devices: Collection[str]) -> OpenExecutor | None:
        """Choose what opens the executor for these units. None means the executor of this machine.

        Raises:
            LabError: one of them needs more memory than a machine has.
        """
        ...


@dataclass(frozen=True)
class ThisMachine:
    """Worker processes of this machine: ``requested``, or as many as cores have room for."""

    requested: int | None

    @property
    def workers(self) -> int:
        """The number requested, or as many as its cores have threads for."""
        return self.requested or max(1, cores() // threads())

    @property
    def memory(self) -> int:
        """The memory of this machine, in bytes."""
        return machine_memory()

    def require(self, devices: Collection[str]) -> None:
        """Refuse devices that torch does not see."""
        require_devices(devices)

    def gpus(self, devices: Collection[str]) -> Sequence[int]:
        """The memory of every GPU that torch sees."""
        return gpu_memories() if "cuda" in devices else ()

    def executor(
        self,
        folder: Path,  # noqa: ARG002
        plan: MemoryPlan,
        devices: Collection[str],
    ) -> OpenExecutor | None:
        """The one of this machine, each worker on its own GPU where units are on GPUs."""
        return partial(Workers, gpus=[visible_gpu(number) for number in plan.devices]) if "cuda" in devices else None
