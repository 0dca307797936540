"""On what numbers were computed: processor, instructions and threads of torch, which decide their last bits."""

import platform
from functools import cache
from pathlib import Path

import torch

from lnlab.execute.pool import threads

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
    names = [platform.machine(), _model() or platform.processor(), torch.backends.cpu.get_cpu_capability()]
    names += [f"{threads()} threads"] if threads() > 1 else []
    return f"cpu ({', '.join(dict.fromkeys(name for name in names if name))})"


def _model() -> str:
    """The model of the processor as Linux names it, or nothing."""
    if not _CPU_INFO.is_file():
        return ""
    lines = (line.partition(":") for line in _CPU_INFO.read_text(encoding="utf-8", errors="replace").splitlines())
    return next((" ".join(value.split()) for key, _, value in lines if key.strip() == "model name"), "")
