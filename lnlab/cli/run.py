"""``lnlab run``: compute what is missing, judge the claims, print the verdicts."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from enum import StrEnum
from threading import Thread
from typing import TYPE_CHECKING, Annotated

import typer

from lnlab.app.missing_work import status_counts_of_runs, unfinished_runs, work_to_do
from lnlab.app.request import Request, open_store, remembered_plan
from lnlab.app.run_summary import RunSummary
from lnlab.cli.codes import CONTRADICTED, FAILED, SIGNAL
from lnlab.cli.options import AsJsonOption, Overrides, Plugins, Profile, Quiet, Spec, StoreFolder
from lnlab.cli.terminal import err, format_count, format_duration, out, print_json
from lnlab.cli.verdicts import reason_lines, verdict_as_plain, verdict_counts_line, verdict_table
from lnlab.errors import StoreError

if TYPE_CHECKING:
    from lnlab.claims.claim import Verdict
    from lnlab.store.plans import StoredPlan
    from lnlab.store.store import Store
    from lnlab.tables import Results

RUN_EXAMPLE = "Example: [bold]lnlab run specs/xiong_fig3.yaml --profile smoke -s seeds=3[/bold]"


class FailOn(StrEnum):
    """Which verdict makes the command fail."""

    contradicted = "contradicted"


def run(
    spec: Spec,
    overrides: Overrides,
    folder: StoreFolder,
    plugins: Plugins,
    profile: Profile = None,
    workers: Annotated[
        int | None,
        typer.Option("--workers", "-w", min=1, metavar="N", help="Worker processes; as many as cores if not given."),
    ] = None,
    fail_on: Annotated[
        FailOn | None, typer.Option("--fail-on", metavar="contradicted", help="Exit with 3 if a claim is contradicted.")
    ] = None,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Retry failed runs.")] = False,
    save_every: Annotated[
        float,
        typer.Option("--save-every", min=0, metavar="SECONDS", help="How often a training run is checkpointed."),
    ] = 60,
    as_json: AsJsonOption = False,
    quiet: Quiet = False,
) -> None:
    """Compute what is missing, judge the claims.

    What is finished is never computed again. Exit codes: 0 done; 1 some runs failed; 2 the spec or the command is
    wrong; 3 a claim is contradicted (with --fail-on contradicted); 130 interrupted by Ctrl-C, 143 by SIGTERM, 129 by
    SIGHUP. A claim that the rows show to be ill-posed changes none of these: its line says where and why, and the
    others are judged.
    """
    from lnlab.app.evidence import plan_results
    from lnlab.app.judging import plan_verdicts

    request, store = Request(spec, profile, tuple(overrides), tuple(plugins)), open_store(folder)
    done = _complete_plan(store, request, retry_failed=retry_failed)
    if done is None:
        from lnlab.execute.pool import warm

        warm()  # the workers' server imports torch while this process does
        from lnlab.cli.work import RunOptions, compute_missing

        done = compute_missing(store, request, RunOptions(workers, retry_failed, quiet, save_every))
    with _packing(store, done):
        results = plan_results(store, done.stored)
        verdicts = [] if done.interrupted else plan_verdicts(store, done.stored, results, request.plugins)
        if as_json:
            print_json(_as_plain(done, results, verdicts))
        else:
            _print(done, results, verdicts)
            if not quiet:
                err().print("\n".join(next_steps(done, results, request)))
    raise typer.Exit(exit_code(done, results, verdicts, fail_on))


@contextmanager
def _packing(store: "Store", done: RunSummary) -> Iterator[None]:
    """Pack new units in the background of the block; after an error nobody waits for it."""

    def pack() -> None:
        with suppress(StoreError):  # a convenience: the results are complete without it
            store.pack()

    thread = Thread(target=pack, name="lnlab packing", daemon=True)
    if done.units and not done.interrupted:
        thread.start()
    yield
    if thread.ident is not None:
        thread.join()


def _complete_plan(store: "Store", request: Request, *, retry_failed: bool) -> RunSummary | None:
    """The stored plan, if there is nothing to compute; read without the compiler and without torch."""
    stored = remembered_plan(store, request)
    if stored is None or work_to_do(store.lacks(stored), retry_failed=retry_failed):
        return None
    store.used(stored)
    return RunSummary(stored)


def exit_code(done: RunSummary, results: "Results", verdicts: "Sequence[Verdict]", fail_on: FailOn | None) -> int:
    """How the command ends: interrupted before failed before contradicted before done."""
    if done.interrupted:
        return SIGNAL + done.interrupted
    if not results.ended:
        return FAILED
    return CONTRADICTED if fail_on and any(v.verdict == fail_on for v in verdicts) else 0


def _as_plain(done: RunSummary, results: "Results", verdicts: "Sequence[Verdict]") -> dict[str, object]:
    """Everything that is printed, as plain values."""
    counts = {"computed": done.units, "reused": _reused_units(done, results), "runs": status_counts_of_runs(results)}
    return {
        "plan": done.stored.digest,
        "undecided": done.stored.undecided,
        "decisions": list(done.stored.decisions),
        "tuned": done.tuned,
        **counts,
        "failures": unfinished_runs(results),
        "verdicts": [verdict_as_plain(verdict) for verdict in verdicts],
    }


def _print(done: RunSummary, results: "Results", verdicts: "Sequence[Verdict]") -> None:
    """Print choices, verdicts with the reasons of those not supported, failures with theirs, and the summary."""
    for line in _choice_lines(done.stored):
        out().print(line)
    if verdicts:
        out().print(verdict_table(verdicts))
        out().print()
    for line in reason_lines(verdicts):
        out().print(line)
    for failure in unfinished_runs(results):
        out().print(f"{failure['run']}: {str(failure['status']).replace('_', ' ')}: {failure['reason']}")
    if verdicts:
        out().print(verdict_counts_line(verdicts))
    out().print(summary_line(done, results))


def _choice_lines(stored: "StoredPlan") -> list[str]:
    """The choices made on tuning seeds, a line each."""
    from lnlab.compile.decisions import decision_from_json
    from lnlab.compile.reference.explain import decision_line as in_words

    return [f"chosen: {in_words(decision_from_json(decision))}" for decision in stored.decisions]


def next_steps(done: RunSummary, results: "Results", request: Request) -> list[str]:
    """What to do next."""
    command = request.command("run")
    lines = [f"interrupted: {command} goes on from here"] if done.interrupted else []
    if any(failure["status"] != "diverged" for failure in unfinished_runs(results)):
        lines.append(f"to try again what failed: {command} --retry-failed")
    return lines if done.stored.undecided else [*lines, f"next: {request.command('report')}"]


def summary_line(done: RunSummary, results: "Results") -> str:
    """``280 runs: 278 finished, 2 diverged; 12 units computed in 3.1 s, 268 reused``."""
    status_counts = ", ".join(
        f"{number} {status.replace('_', ' ')}" for status, number in status_counts_of_runs(results).items()
    )
    elapsed = f" in {format_duration(done.seconds)}" if done.units else ""
    units = f"{format_count(done.units, 'unit')} computed{elapsed}, {_reused_units(done, results)} reused"
    tuned = f", after {format_count(done.tuned, 'tuning unit')}" if done.tuned else ""
    what = "tuning run" if done.stored.undecided else "run"
    return f"{format_count(results.runs.height, what)}: {status_counts}; {units}{tuned}"


def _reused_units(done: RunSummary, results: "Results") -> int:
    return results.runs["trajectory"].n_unique() - done.scheduled
