"""A run from a request to verdicts: compute what the store lacks, judge, pack."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Thread
from typing import TYPE_CHECKING

from lnlab.app.missing_work import work_to_do
from lnlab.app.request import Request, remembered_plan
from lnlab.app.run_options import RunOptions
from lnlab.app.run_summary import RunResult, RunSummary
from lnlab.errors import StoreError
from lnlab.execute.executor import ExecutorKind
from lnlab.training_extra import require_training

if TYPE_CHECKING:
    from lnlab.store.store import Store


FAILURES = ("failed", "timed_out", "out_of_memory")
"""How a run ends without a result."""


def failed_runs(unfinished: list[dict[str, object]]) -> list[dict[str, object]]:
    """The failed ones among unfinished runs. A run that diverged or was stopped by its rule has a result."""
    return [failure for failure in unfinished if failure["status"] in FAILURES]


def run_request(store: "Store", request: Request, options: RunOptions) -> RunResult:
    """Compute what the store lacks for a request and judge its claims. With nothing to do, torch is not imported.

    Raises:
        LabError: what is wrong with the spec, a corpus, the store, or the size of a unit.
    """
    if options.decide:
        from lnlab.app.deciding import decide_request

        return decide_request(store, request, options, _run_once)
    return _run_once(store, request, options)


def _run_once(store: "Store", request: Request, options: RunOptions) -> RunResult:
    from lnlab.app.judging import plan_results, plan_verdicts
    from lnlab.claims.verdicts import Verdicts

    stored = remembered_plan(store, request)
    if stored is not None and not work_to_do(store.lacks(stored), retry_failed=options.retry_failed):
        store.used(stored)
        summary = RunSummary(stored)
    else:
        require_training(request.command("run"))
        from lnlab.execute.pool import warm

        if options.executor == ExecutorKind.local:
            warm()  # the workers' server imports torch while this process does
            from lnlab.app.compute import compute_missing

            summary = compute_missing(store, request, options)
        else:
            from lnlab.app.cluster_run import run_on_cluster

            summary = run_on_cluster(store, request, options)
    with _packing(store, summary):
        results = plan_results(store, summary.stored)
        unjudged = summary.interrupted or not options.wait
        judged = Verdicts(() if unjudged else plan_verdicts(store, summary.stored, results, request.plugins))
    return RunResult(request, summary, results, verdicts=judged)


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
