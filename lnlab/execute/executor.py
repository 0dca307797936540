"""Where units are computed: numbered workers that take tasks, on this machine or on a cluster."""

from collections.abc import Callable, Collection, Mapping, Sequence
from enum import StrEnum
from typing import Any, Protocol


class ExecutorKind(StrEnum):
    """On what units are computed."""

    local = "local"
    ray = "ray"
    slurm = "slurm"


class WorkerDied(Exception):
    """The process that was at a task ended before it answered.

    Attributes:
        exitcode: as of ``multiprocessing``: that of the process, or minus the signal that killed it.
    """

    def __init__(self, exitcode: int | None) -> None:
        super().__init__("its process died")
        self.exitcode = exitcode


class WorkerLost(Exception):
    """The worker that held a task is gone with the machine it ran on.

    Attributes:
        first: whether the worker was at this task. Other tasks only waited for the worker.
    """

    def __init__(self, *, first: bool) -> None:
        super().__init__("its worker was lost")
        self.first = first


class Executor(Protocol):
    """Workers by number. The future of a task ends with its answer or raises.

    ``TimeoutError`` where it took too long, ``WorkerDied`` where its process died, ``WorkerLost`` where the machine
    went away, and what a broken pool raises.
    """

    @property
    def count(self) -> int:
        """How many workers there are to be."""
        ...

    @property
    def ahead(self) -> float:
        """Seconds of work that a worker may hold beside its current task. At 0 it takes one task at a time."""
        ...

    def ready(self) -> Collection[int]:
        """The numbers of the workers that take tasks now."""
        ...

    def submit(
        self, task: Callable[[Any], Any], argument: Any, timeout: float | None = None, *, worker: int = 1
    ) -> Any:
        """Have a worker call ``task(argument)`` and return the future of its answer."""
        ...

    def terminate(self) -> None:
        """SIGTERM to every worker: those that work save their states and end."""
        ...

    def stop(self) -> None:
        """Kill them, whatever they do."""
        ...


OpenExecutor = Callable[[int], Executor]
"""From the most workers to an executor."""


def worker_with_room(
    hands: Mapping[int, Sequence[Any]], seconds: Callable[[Sequence[Any]], float], ahead: float, waiting: int
) -> int | None:
    """The worker that takes the next task: an idle one, else the one that holds least work.

    Returns:
        None if every worker holds ``ahead`` seconds of work. None also for the last tasks if no worker is idle, as
        another worker may be idle before the one that would hold them.

    Args:
        hands: worker -> the tasks that it has.
        seconds: how long tasks take.
        ahead: how many seconds of work a worker may hold.
        waiting: how many tasks nobody has yet.
    """
    held = {number: seconds(hand) for number, hand in hands.items()}
    number = min(hands, key=lambda number: (bool(hands[number]), held[number], number), default=None)
    if number is None or not hands[number]:
        return number
    return number if held[number] < ahead and waiting > len(hands) else None
