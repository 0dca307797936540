"""On what numbers are computed: processor, instructions and threads, which decide their last bits, and its room."""

import platform
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import torch

from lnlab.compile.cost.cost import machine_memory
from lnlab.execute.devices import gpu_memories
from lnlab.execute.pool import cores, threads

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

    def gpus(self, devices: Collection[str]) -> Sequence[int]:
        """The memory of every GPU that torch sees."""
        return gpu_memories() if "cuda" in devices else ()
