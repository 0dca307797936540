"""An executor without workers: starting one takes longer than the units of a small spec do."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from lnlab.execute import pool, scheduler


@dataclass
class ThisProcess:
    """An executor without workers: a task is done where it is submitted."""

    count: int
    gpus: Sequence[str] = ()

    def submit(self, task: Callable[[Any], Any], argument: Any, *, worker: int = 1) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(task(argument))
        except BaseException as error:
            future.set_exception(error)
        return future

    def terminate(self) -> None:
        """Nothing is at work between two tasks."""

    def stop(self) -> None:
        """Nothing is at work between two tasks."""


NO_WORKERS = ((scheduler, "Workers", ThisProcess), (pool, "warm", lambda: None))
"""Which names of which modules are to be replaced by what, so that units are computed in this process."""
