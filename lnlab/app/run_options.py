"""The options of a run, once: ``lnlab run``, ``lnlab.run`` and ``lnlab verify`` make them, and all below reads them."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lnlab.errors import LabError, nearest
from lnlab.execute.executor import ExecutorKind
from lnlab.issues import Issue

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """The options of a run. Only ``decide`` and ``minutes`` decide what is run, and none changes a number.

    Attributes:
        console: where progress is shown.
        quiet: whether no progress is shown.
        workers: processes, fewer where memory allows no more. None means as many as cores.
        retry_failed: whether failed units are tried again.
        save_every: seconds of training between two checkpoints.
        executor: where units are computed, an ``ExecutorKind``.
        address: of the Ray cluster. None means ``RAY_ADDRESS``, else one of this machine.
        decide: whether further seeds are run where they decide claims.
        minutes: that all of it may take, with ``decide``. None means no limit.
        max_memory: gigabytes that all workers together may have. None means all there are.
        tasks: number of tasks of a SLURM array, each with ``workers`` processes. None means one for each unit, up to a
            limit.
        sbatch: parameters of SLURM that replace those that follow from the plan, as ``partition=short``.
        wait: whether to wait for SLURM's tasks. Otherwise no claim is judged.

    Raises:
        LabError: there is no such executor, or an option is for another one.
    """

    console: "Console"
    quiet: bool = False
    workers: int | None = None
    retry_failed: bool = False
    save_every: float = 60.0
    executor: str = ExecutorKind.local
    address: str | None = None
    decide: bool = False
    minutes: float | None = None
    max_memory: float | None = None
    tasks: int | None = None
    sbatch: Sequence[str] = ()
    wait: bool = True

    def __post_init__(self) -> None:
        executor = self.executor
        if executor not in tuple(ExecutorKind):
            what = f"'{executor}' is not an executor"
            raise LabError(Issue("unknown-name", "executor", what, nearest(executor, ExecutorKind)))
        if executor == ExecutorKind.slurm and os.name == "nt":
            what = "does not work on Windows"
            raise LabError(Issue("wrong-option", "--executor slurm", what, "run it on a node of the cluster"))
        if self.address is not None and executor != ExecutorKind.ray:
            where = f"--address {self.address}"
            raise LabError(Issue("wrong-option", where, "is for --executor ray alone", "add --executor ray"))
        for option, given in (("--tasks", self.tasks), ("--sbatch", self.sbatch), ("--no-wait", not self.wait)):
            if given and executor != ExecutorKind.slurm:
                raise LabError(Issue("wrong-option", option, "is for --executor slurm alone", "add --executor slurm"))
        if self.minutes is not None and not self.decide:
            raise LabError(Issue("wrong-option", "--minutes", "is for --decide alone", "add --decide"))
        if self.decide and not self.wait:
            raise LabError(
                Issue("wrong-option", "--decide", "needs verdicts, and --no-wait judges nothing", "leave one out")
            )
        for text in self.sbatch:
            name, equals, _ = text.partition("=")
            if not equals or not name:
                what = "is not a parameter of sbatch"
                raise LabError(Issue("wrong-option", f"--sbatch {name}", what, "write it as partition=short"))

    @property
    def memory(self) -> int | None:
        """Bytes that all workers together may have."""
        return None if self.max_memory is None else int(self.max_memory * 1e9)

    @property
    def sbatch_parameters(self) -> dict[str, str]:
        """What ``sbatch`` says, by the names that Python has for it."""
        pairs = (text.partition("=") for text in self.sbatch)
        return {name.replace("-", "_"): value for name, _, value in pairs}
