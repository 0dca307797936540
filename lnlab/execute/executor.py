"""On what units are computed, and how a worker may end."""

from enum import StrEnum


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
