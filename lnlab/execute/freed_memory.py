"""Freed memory goes back to the system.

glibc keeps freed blocks below the last one in use. A probe of curvature frees a graph of gigabytes in small blocks, and
the next one's do not fit the gaps exactly: the memory of a worker grew with each, five times over a run.
"""

import ctypes
from contextlib import suppress


def release_memory() -> None:
    """Return every freed page of this process to the system. Without glibc this does nothing."""
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
