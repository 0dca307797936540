"""What runs on a node: an actor with a worker process of its own, which is the same as on this machine.

The actor itself computes nothing, so that it answers while its worker works, and outlives it. It holds tasks that wait
for its worker: no time passes between two units while a message is on its way.
"""

import asyncio
import os
import platform
import socket
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from importlib.metadata import version
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any

from lnlab import __version__
from lnlab.execute.executor import WorkerDied
from lnlab.execute.pool import THREADS, Workers

ANSWERED, TIMED_OUT, DIED, BROKE = "answered", "timed_out", "died", "broke"
"""How a task ended, beside what: its answer, nothing, the exit code, a line."""


@dataclass(frozen=True)
class Introduction:
    """A node as its agent sees it.

    Attributes:
        host: its name.
        versions: name -> version of what numbers depend on.
        shares: whether it sees the folder of the store.
    """

    host: str
    versions: dict[str, str]
    shares: bool


def pack(task: Callable[[Any], Any], argument: Any) -> bytes:
    """A task and its argument as one message, as processes send them to each other."""
    return bytes(ForkingPickler.dumps((task, argument)))


def call(message: bytes) -> Any:
    """Unpack a task and do it in the worker. The agent never unpacks it, as that would import torch."""
    task, argument = ForkingPickler.loads(message)
    return task(argument)


def software() -> dict[str, str]:
    """Versions that numbers depend on. They must be the same on every node."""
    return {"lnlab": __version__, "torch": version("torch"), "python": platform.python_version()}


class Agent:
    """A worker of a cluster, with ``threads`` threads of torch. Its methods run side by side."""

    def __init__(self, threads: int) -> None:
        os.environ[THREADS] = str(threads)
        self._workers = Workers(1)

    async def introduce(self, token: Path, content: bytes) -> Introduction:
        """Say who this is, and whether this node sees the folder of the store.

        Args:
            token: a file in the store, by its path on the driver's machine. This node may have another file there.
            content: what the driver has written into it.
        """
        try:
            shares = token.read_bytes() == content
        except OSError:
            shares = False
        return Introduction(socket.gethostname(), software(), shares)

    async def perform(self, content: bytes, timeout: float | None) -> tuple[str, Any]:
        """Queue a task at the worker. Return how it ended, with its answer, exit code or error text."""
        try:
            return ANSWERED, await asyncio.wrap_future(self._workers.submit(call, content, timeout))
        except TimeoutError:
            return TIMED_OUT, None
        except WorkerDied as died:
            return DIED, died.exitcode
        except (BrokenProcessPool, CancelledError, asyncio.CancelledError, RuntimeError) as error:
            return BROKE, str(error)

    async def terminate(self) -> None:
        """SIGTERM to the worker."""
        self._workers.terminate()


def differences(versions: dict[str, str]) -> Sequence[str]:
    """What a node has in another version than this machine: ``torch 2.12.0 and not 2.13.0``."""
    here = software()
    return [f"{name} {versions.get(name)} and not {here[name]}" for name in here if versions.get(name) != here[name]]
