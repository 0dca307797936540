"""A pool of worker processes: forkserver, torch preloaded, one thread each, whatever this process does.

A worker that dies is replaced at once, as the forkserver has imported torch already; forking this process itself would
copy threads that hold locks.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import forkserver, get_context
from typing import Final

from pebble import ProcessPool

WORKER_ENVIRONMENT: Final = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "POLARS_MAX_THREADS": "1",
    "RAYON_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "MALLOC_TRIM_THRESHOLD_": str(1 << 30),
    "MALLOC_MMAP_THRESHOLD_": str(1 << 30),
    "MALLOC_TOP_PAD_": str(64 << 20),
}
"""Set before torch is imported: sums depend on the number of threads, and giving memory back costs time."""

PRELOADED: Final = ["torch", "pydantic"]
"""Imported once for all workers. Nothing that starts a thread may stand here."""


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def warm() -> None:
    """Start the process from which workers come; it imports torch while this one goes on. Called again, it does nothing."""
    with _environment():
        get_context("forkserver").set_forkserver_preload(PRELOADED)
        forkserver.ensure_running()


def open_pool(workers: int) -> ProcessPool:
    """A pool of ``workers`` processes that come and go by themselves."""
    warm()
    return ProcessPool(max_workers=workers, context=get_context("forkserver"))


@contextmanager
def _environment() -> Iterator[None]:
    """The environment of the workers, for as long as it takes to start their origin."""
    before = {name: os.environ.get(name) for name in WORKER_ENVIRONMENT}
    os.environ.update(WORKER_ENVIRONMENT)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
