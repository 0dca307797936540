"""Freed memory goes back to the system, and what a unit had at its peak is known.

glibc keeps freed blocks below the last one in use. A probe of curvature frees a graph of gigabytes in small blocks, and
the next one's do not fit the gaps exactly: the memory of a worker grew with each, five times over a run.
"""

import ctypes
import sys
from contextlib import suppress
from pathlib import Path

_PROCESS = Path("/proc/self")
_FORGET_PEAK = "5"
"""What Linux takes in ``clear_refs`` to begin a new peak."""


def release_memory() -> None:
    """Return every freed page of this process to the system. Without glibc this does nothing."""
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


def forget_peak() -> None:
    """Reset the peak of resident memory. Without Linux's /proc the peak of the whole process remains."""
    with suppress(OSError):
        (_PROCESS / "clear_refs").write_text(_FORGET_PEAK)


def peak_resident() -> int:
    """Bytes that this process had in memory at the peak since ``forget_peak``, its libraries included."""
    with suppress(OSError):
        for line in (_PROCESS / "status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    if sys.platform == "win32":
        import psutil  # late: it imports other modules of Unix, or of Windows

        return int(psutil.Process().memory_info().peak_wset)
    import resource  # late: absent on Windows

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
