"""Freed memory goes back to the system.

glibc keeps freed blocks below the last one in use. A probe of curvature frees a graph of gigabytes in small blocks, and
the next one's do not fit the gaps exactly: the memory of a worker grew with each, five times over a run.
"""

import ctypes
from contextlib import suppress


def give_back() -> None:
    """Give every freed page of this process back to the system; where the C library is not glibc, it sees to that."""
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
