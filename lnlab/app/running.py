"""A run from a request to verdicts: compute what the store lacks, judge, pack."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import Thread
from typing import TYPE_CHECKING

from lnlab.app.missing_work import unfinished_runs, work_to_do
from lnlab.app.request import Request, remembered_plan
from lnlab.app.run_summary import RunSummary
from lnlab.errors import LabError, StoreError, nearest
from lnlab.execute.executor import ExecutorKind
from lnlab.issues import Issue
from lnlab.training_extra import require_training

if TYPE_CHECKING:
    from rich.console import Console

    from lnlab.claims.verdicts import Verdicts
    from lnlab.store.store import Store
    from lnlab.tables import Results


FAILURES = ("failed", "timed_out", "out_of_memory")
"""How a run ends without a result."""


@dataclass(frozen=True)
class RunResult:
    """The results of a run and the verdicts of its claims.

    Attributes:
        request: the question.
        summary: how the run went: units, seconds, signal.
        results: the rows of all runs of the plan, new and old, joined.
        verdicts: one per claim, in the order of the spec. Empty after an interruption.
    """

    request: Request = field(repr=False)
    summary: RunSummary = field(repr=False)
    results: "Results" = field(repr=False)
    verdicts: "Verdicts"

    @property
    def plan(self) -> str:
        """The digest of the plan."""
        return self.summary.stored.digest

    @property
    def computed(self) -> int:
        """How many units ended in this run."""
        return self.summary.units

    @property
    def reused(self) -> int:
        """How many units of the plan the store had before."""
        return self.results.runs["trajectory"].n_unique() - self.summary.scheduled

    @property
    def failures(self) -> list[dict[str, object]]:
        """Every run that ended other than finished: ``run``, ``key``, ``status`` and ``reason``."""
        return unfinished_runs(self.results)


def failed_runs(unfinished: list[dict[str, object]]) -> list[dict[str, object]]:
    """The failed ones among unfinished runs. A run that diverged or was stopped by its rule has a result."""
    return [failure for failure in unfinished if failure["status"] in FAILURES]


def run_request(
    store: "Store",
    request: Request,
    *,
    workers: int | None,
    retry_failed: bool,
    save_every: float,
    console: "Console",
    quiet: bool,
    executor: str,
    address: str | None,
    max_minutes: float | None = None,
    max_memory: float | None = None,
    tasks: int | None = None,
    sbatch: Sequence[str] = (),
    wait: bool = True,
) -> RunResult:
    """Compute what the store lacks for a request and judge its claims. With nothing to do, torch is not imported.

    Args:
        store: where rows are kept.
        request: the question.
        workers: processes. None means as many as cores.
        retry_failed: whether failed units are tried again.
        save_every: seconds of training between two checkpoints.
        console: where progress is shown.
        quiet: show none.
        executor: where units are computed.
        address: of a Ray cluster. None means ``RAY_ADDRESS``, else one of this machine.
        max_minutes: that the run may take. Seeds that do not fit are left out. None means no limit.
        max_memory: gigabytes that its workers together may have. None means all of the machine.
        tasks: number of tasks of a SLURM array. None means one for each unit, up to 16.
        sbatch: its parameters, as ``partition=short``.
        wait: whether to wait for it. Otherwise no claim is judged.

    Raises:
        LabError: what is wrong with the spec, a corpus, the store, or the size of a unit.
    """
    from lnlab.claims.verdicts import Verdicts
    from lnlab.committed.evidence import plan_results
    from lnlab.committed.judging import plan_verdicts

    parameters = _checked_executor(executor, address, tasks, sbatch, wait=wait)
    stored = remembered_plan(store, request)
    if stored is not None and not work_to_do(store.lacks(stored), retry_failed=retry_failed):
        store.used(stored)
        summary = RunSummary(stored)
    else:
        require_training(request.command("run"))
        from lnlab.execute.pool import warm

        if executor == ExecutorKind.local:
            warm()  # the workers' server imports torch while this process does
        from lnlab.app.rounds.units import RunOptions

        memory = int(max_memory * 1e9) if max_memory is not None else None
        if max_minutes is not None:
            from lnlab.app.planning.limits import within_minutes
            from lnlab.committed.registries import load_registries

            known = load_registries(request.plugins)
            request, left_out = within_minutes(store, request, known, max_minutes, workers=workers, memory=memory)
            if left_out:
                console.print(left_out)
        options = RunOptions(
            workers,
            retry_failed,
            quiet,
            save_every=save_every,
            console=console,
            executor=ExecutorKind(executor),
            address=address,
            memory=memory,
            tasks=tasks,
            sbatch=parameters,
            wait=wait,
        )
        if executor == ExecutorKind.slurm:
            from lnlab.app.array_run import run_as_array

            summary = run_as_array(store, request, options)
        else:
            from lnlab.app.compute import compute_missing

            summary = compute_missing(store, request, options)
    with _packing(store, summary):
        results = plan_results(store, summary.stored)
        unjudged = summary.interrupted or not wait
        judged = Verdicts(() if unjudged else plan_verdicts(store, summary.stored, results, request.plugins))
    return RunResult(request, summary, results, verdicts=judged)


def _checked_executor(
    executor: str, address: str | None, tasks: int | None, sbatch: Sequence[str], *, wait: bool
) -> tuple[tuple[str, str], ...]:
    """The parameters of sbatch as pairs, once every option is one of its executor.

    Raises:
        LabError: there is no such executor, or an option is for another one.
    """
    if executor not in tuple(ExecutorKind):
        what = f"'{executor}' is not an executor"
        raise LabError(Issue("unknown-name", "executor", what, nearest(executor, ExecutorKind)))
    if executor == ExecutorKind.slurm and os.name == "nt":
        raise LabError(
            Issue("wrong-option", "--executor slurm", "does not work on Windows", "run it on a node of the cluster")
        )
    if address is not None and executor != ExecutorKind.ray:
        raise LabError(
            Issue("wrong-option", f"--address {address}", "is for --executor ray alone", "add --executor ray")
        )
    for option, given in (("--tasks", tasks), ("--sbatch", sbatch), ("--no-wait", not wait)):
        if given and executor != ExecutorKind.slurm:
            raise LabError(Issue("wrong-option", option, "is for --executor slurm alone", "add --executor slurm"))
    pairs = [text.partition("=") for text in sbatch]
    for name, equals, _ in pairs:
        if not equals or not name:
            raise LabError(
                Issue("wrong-option", f"--sbatch {name}", "is not a parameter of sbatch", "write it as partition=short")
            )
    return tuple((name.replace("-", "_"), value) for name, _, value in pairs)


@contextmanager
def _packing(store: "Store", summary: RunSummary) -> Iterator[None]:
    """Pack new units, many small files into a few large ones, in a thread that runs beside the block.

    On leaving, the thread is waited for, unless the block failed.
    """

    def pack() -> None:
        with suppress(StoreError):  # a convenience: the results are complete without it
            store.pack()

    thread = Thread(target=pack, name="lnlab packing", daemon=True)
    # Without new units there is nothing to pack; after a request to stop nothing is begun.
    if summary.units and not summary.interrupted:
        thread.start()
    yield
    if thread.ident is not None:
        thread.join()
