"""Worker processes that come and go by themselves: forkserver, torch preloaded, one thread each if not set otherwise.

Where there is no forkserver (Windows) they are spawned, and each imports torch by itself.

A worker that dies is replaced at once, as the forkserver has imported torch already. Forking this process itself would
copy threads that hold locks. Workers need nothing of the program that starts them, so its main module is not imported
into them: a script may call ``lnlab.run`` at its top level.
"""

import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing import forkserver, get_all_start_methods, get_context, resource_tracker
from multiprocessing.context import BaseContext, SpawnContext, SpawnProcess
from multiprocessing.process import BaseProcess
from typing import Any, Final

from lnlab.errors import LabError
from lnlab.execute.interrupts import CAN_BLOCK_SIGNALS, URGENT, listen
from lnlab.execute.process_worker import ProcessWorker
from lnlab.issues import Issue
from lnlab.plugins import WITHOUT_FOLDER

START_METHOD = "forkserver" if "forkserver" in get_all_start_methods() else "spawn"

THREADS: Final = "LNLAB_THREADS"
"""The environment variable with the threads of torch in one worker."""

VISIBLE_GPUS: Final = "CUDA_VISIBLE_DEVICES"
"""The environment variable with the GPUs that a process sees, by number or by name."""

WORKER_ENVIRONMENT: Final = {
    "OMP_WAIT_POLICY": "PASSIVE",  # a thread that waits leaves its core to other workers
    "OPENBLAS_NUM_THREADS": "1",
    "POLARS_MAX_THREADS": "1",
    "RAYON_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    **WITHOUT_FOLDER,
}
"""Set before torch is imported, with the variables of ``OF_TORCH``: sums depend on the number of threads."""
OF_TORCH: Final = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")
"""The variables from which torch takes its number of threads."""
MOST_THREADS_OF_A_CORE: Final = 4
"""More threads than this only get into each other's way."""

PRELOADED: Final = ["torch", "pydantic"]
"""Imported once for all workers. Nothing that starts a thread may stand here."""


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def threads() -> int:
    """How many threads torch has in one worker: ``LNLAB_THREADS``, else one.

    Raises:
        LabError: the variable holds no such number.
    """
    text = os.environ.get(THREADS, "").strip() or "1"
    if not (text.isascii() and text.isdigit() and 0 < int(text) <= cores() * MOST_THREADS_OF_A_CORE):
        most = cores() * MOST_THREADS_OF_A_CORE
        raise LabError(Issue("failed", THREADS, f"is {text!r}", f"set it to a number from 1 to {most}, or unset it"))
    return int(text)


def warm() -> None:
    """Start the process from which workers come: it imports torch while this one goes on. Once is enough."""
    if START_METHOD == "spawn":
        return
    with _environment(), _signals_blocked():
        get_context("forkserver").set_forkserver_preload(PRELOADED)
        forkserver.ensure_running()


@contextmanager
def _environment() -> Iterator[None]:
    """The environment of the workers, for as long as it takes to start their origin."""
    environment = WORKER_ENVIRONMENT | dict.fromkeys(OF_TORCH, str(threads()))
    before = {name: os.environ.get(name) for name in environment}
    os.environ.update(environment)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


@contextmanager
def _signals_blocked() -> Iterator[None]:
    """Block SIGTERM and SIGHUP in processes started inside, as these signals may go to the whole process group.

    Workers unblock them once they have begun (``listen``). This process gets what arrived meanwhile on leaving.
    """
    if not CAN_BLOCK_SIGNALS:
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, URGENT)
    try:
        resource_tracker.ensure_running()  # unblocks SIGTERM when it starts
        signal.pthread_sigmask(signal.SIG_BLOCK, URGENT)
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _WithoutMain(BaseProcess):
    """A process that does not import the main module of the process that starts it."""

    def start(self) -> None:
        main = sys.modules["__main__"].__dict__
        origin: dict[str, Any] = {name: main.pop(name) for name in ("__file__", "__spec__") if name in main}
        main["__spec__"] = None  # multiprocessing reads both names to have the worker import the main module
        try:
            super().start()
        finally:
            main.update(origin)


class _SpawnedWorker(_WithoutMain, SpawnProcess):
    def start(self) -> None:
        with _environment():  # nothing else gives it one
            super().start()


class _SpawnContext(SpawnContext):
    Process = _SpawnedWorker


def worker_context() -> BaseContext:
    """What starts the processes of workers on this platform."""
    return _SpawnContext() if START_METHOD == "spawn" else _ForkServerContext()


if sys.platform != "win32":
    from multiprocessing.context import ForkServerContext, ForkServerProcess

    class _ForkedWorker(_WithoutMain, ForkServerProcess):
        pass

    class _ForkServerContext(ForkServerContext):
        Process = _ForkedWorker


def _begin(gpu: str | None) -> None:
    """Take signals, and see one GPU alone. The forkserver has imported torch, which reads the variable at first use."""
    listen()
    if gpu is not None:
        os.environ[VISIBLE_GPUS] = gpu


@dataclass
class Workers:
    """A number of processes, from 1, each replaced when it dies.

    Attributes:
        count: the number of processes.
        gpus: the one GPU that each worker sees, as CUDA names it. If empty, all workers see every GPU.
    """

    count: int
    gpus: Sequence[str] = ()

    def __post_init__(self) -> None:
        warm()
        gpus: Sequence[str | None] = self.gpus or [None] * self.count
        self._workers = [ProcessWorker(worker_context(), partial(_begin, gpu)) for gpu in gpus[: self.count]]

    def submit(self, task: Callable[[Any], Any], argument: Any, *, worker: int = 1) -> "Future[Any]":
        """Queue ``task(argument)`` at a worker and return the future of its answer."""
        warm()  # the process from which workers come may have been killed
        return self._workers[worker - 1].submit(task, argument)

    def terminate(self) -> None:
        """Send SIGTERM to every worker. A busy one saves its state before it ends."""
        for worker in self._workers:
            worker.terminate()

    def stop(self) -> None:
        """Kill them, whatever they do."""
        for worker in self._workers:
            worker.stop()
