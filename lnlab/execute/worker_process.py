"""What makes a process a worker: its number of threads, an end with its parent's, and output that goes to a file."""

import faulthandler
import os
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from functools import cache
from multiprocessing import connection, parent_process
from pathlib import Path
from threading import Event, Thread

import torch

from lnlab.execute.pool import threads


@cache
def become_worker() -> None:
    """Make this process a worker, once."""
    torch.set_num_threads(threads())
    parent = parent_process()
    if parent is not None:
        sentinel = parent.sentinel

        def die_with_parent() -> None:
            connection.wait([sentinel])  # until the parent has ended
            os._exit(1)  # at once, from a thread: whatever is not committed is lost, as after a crash

        Thread(target=die_with_parent, name="lnlab parent", daemon=True).start()


MAX_BYTES = 8 * 1024 * 1024
"""A file of output that has grown beyond this is emptied: it would fill the disk, and only its last lines count."""

CHECK_EVERY = 0.2
"""Seconds between two looks at its size."""


@contextmanager
def output_to(path: Path) -> Iterator[None]:
    """Append everything that this process prints to a file, including output of native code and of a crash."""
    ended = Event()
    saved = os.dup(1), os.dup(2)
    with path.open("a", buffering=1, encoding="utf-8", errors="replace") as file:
        for stream in (1, 2):
            os.dup2(file.fileno(), stream)
        faulthandler.enable(file=2)
        handle = file.fileno()

        def keep_small() -> None:
            while not ended.wait(CHECK_EVERY):
                if os.fstat(handle).st_size > MAX_BYTES:  # it is open for appending: what follows begins anew
                    os.ftruncate(handle, 0)

        watch = Thread(target=keep_small, name="lnlab output", daemon=True)
        if path.is_file():
            watch.start()
        try:
            with redirect_stdout(file), redirect_stderr(file):
                yield
        finally:
            faulthandler.disable()
            ended.set()
            if watch.ident:
                watch.join()
            for stream, original in zip((1, 2), saved, strict=True):
                os.dup2(original, stream)
                os.close(original)
