"""``lnlab run``: compute what is missing, judge the claims, print the verdicts."""

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from lnlab.app.formats import format_count, format_duration
from lnlab.app.missing_work import status_counts_of_runs
from lnlab.app.request import open_store, request_for
from lnlab.app.run_options import RunOptions
from lnlab.app.run_summary import RunResult, RunSummary
from lnlab.app.running import run_request
from lnlab.app.table_specs import refuse_overrides, states_results
from lnlab.cli.codes import CONTRADICTED, FAILED, SIGNAL
from lnlab.cli.options import AsJsonOption, Overrides, Plugins, Profile, Quiet, Spec, StoreFolder
from lnlab.cli.table_specs import run_table_spec
from lnlab.cli.terminal import err, out, print_json
from lnlab.cli.verdicts import print_verdicts, verdict_as_plain
from lnlab.execute.executor import ExecutorKind

if TYPE_CHECKING:
    from lnlab.claims.claim import Verdict
    from lnlab.tables import Results

RUN_EXAMPLE = "Example: [bold]lnlab run specs/xiong_fig3.yaml --profile smoke -s seeds=3[/bold]"


class FailOn(StrEnum):
    """What makes the command fail."""

    contradicted = "contradicted"
    review = "review"


def run_spec(
    spec: Spec,
    overrides: Overrides,
    folder: StoreFolder,
    plugins: Plugins,
    sbatch: Annotated[
        list[str],
        typer.Option(
            "--sbatch",
            metavar="NAME=VALUE",
            help="A parameter of SLURM's sbatch, as partition=short or time=60 (minutes).",
            default_factory=list,
            show_default=False,
        ),
    ],
    profile: Profile = None,
    workers: Annotated[
        int | None,
        typer.Option("--workers", "-w", min=1, metavar="N", help="Worker processes; as many as cores if not given."),
    ] = None,
    fail_on: Annotated[
        FailOn | None,
        typer.Option(
            "--fail-on",
            metavar="contradicted|review",
            help="Exit with 3 if a claim is contradicted, or if a line of lnlab review is open.",
        ),
    ] = None,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Retry failed runs.")] = False,
    save_every: Annotated[
        float,
        typer.Option("--save-every", min=0, metavar="SECONDS", help="How often a training run is checkpointed."),
    ] = 60,
    executor: Annotated[
        ExecutorKind,
        typer.Option("--executor", metavar="local|slurm|ray", help="This machine, SLURM, or a Ray cluster."),
    ] = ExecutorKind.local,
    address: Annotated[
        str | None,
        typer.Option(
            "--address", metavar="HOST:PORT", help="Of the Ray cluster, or auto; one of this machine if not given."
        ),
    ] = None,
    tasks: Annotated[
        int | None,
        typer.Option("--tasks", min=1, metavar="N", help="Tasks of the SLURM array, each with --workers processes."),
    ] = None,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait for SLURM's tasks, and judge.")] = True,
    decide: Annotated[
        bool, typer.Option("--decide", help="Run further seeds as well, where they decide most claims a minute.")
    ] = False,
    minutes: Annotated[
        float | None,
        typer.Option("--minutes", min=0, metavar="N", help="What --decide may take; no limit if not given."),
    ] = None,
    max_memory: Annotated[
        float | None,
        typer.Option("--max-memory", min=0, metavar="GB", help="What all workers may have; fewer at once if need be."),
    ] = None,
    as_json: AsJsonOption = False,
    quiet: Quiet = False,
) -> None:
    """Compute what is missing, judge the claims.

    What is finished is never computed again. Exit codes: 0 done; 1 some runs failed; 2 the spec or the command is
    wrong; 3 a claim is contradicted (with --fail-on contradicted), or a referee's question is open (with --fail-on
    review); 130 interrupted by Ctrl-C, 143 by SIGTERM, 129 by
    SIGHUP. An ill-posed claim does not change the exit code. Its line says where and why, and the others are judged.
    """
    if states_results(spec):
        refuse_overrides(spec, profile, overrides)
        raise typer.Exit(run_table_spec(spec, as_json=as_json, strict=fail_on is FailOn.contradicted))
    store = open_store(folder, spec)
    request = request_for(spec, profile, overrides, plugins)
    options = RunOptions(
        console=err(),
        quiet=quiet,
        workers=workers,
        retry_failed=retry_failed,
        save_every=save_every,
        executor=executor,
        address=address,
        decide=decide,
        minutes=minutes,
        max_memory=max_memory,
        tasks=tasks,
        sbatch=sbatch,
        wait=wait,
    )
    outcome = run_request(store, request, options)
    stored = outcome.summary.stored
    decisions = stored.facts["report"]["decisions"]
    questions = open_questions(outcome) if outcome.computed or fail_on is FailOn.review else 0
    if as_json:
        print_json(
            {
                "plan": outcome.plan,
                "undecided": stored.undecided,
                "decisions": list(decisions),
                "tuned": outcome.summary.tuned,
                "computed": outcome.computed,
                "reused": outcome.reused,
                "runs": status_counts_of_runs(outcome.results),
                "failures": outcome.failures,
                "verdicts": [verdict_as_plain(verdict) for verdict in outcome.verdicts],
                "review": questions,
            }
        )
    else:
        verdicts = outcome.verdicts
        if decisions:
            from lnlab.compile.decisions import decision_from_json
            from lnlab.compile.reference.explain import decision_line  # late: few specs tune, and it takes a while

            for decision in decisions:
                out().print(f"chosen: {decision_line(decision_from_json(decision))}")
        for failure in outcome.failures:
            out().print(f"{failure['run']}: {str(failure['status']).replace('_', ' ')}: {failure['reason']}")
        if verdicts:
            from lnlab.committed.evidence import committed_verdicts  # late: it imports polars

            asked = outcome.request
            print_verdicts(verdicts, committed_verdicts(asked.spec, asked.profile, verdicts))
        if questions:
            asks = f"a referee would ask {format_count(questions, 'question')}"
            out().print(f"{asks}: {outcome.request.command('review')}", soft_wrap=True)
        out().print(summary_line(outcome))
        if not quiet:
            for line in next_steps(outcome):
                err().print(line, soft_wrap=": lnlab" in line)  # a command that is copied has no line break
    raise typer.Exit(exit_code(outcome.summary, outcome.results, outcome.verdicts, fail_on, questions))


def open_questions(outcome: RunResult) -> int:
    """How many lines of the review of a run are open. None are before its claims are judged.

    It imports what judges and draws, which a rerun with nothing to do does without.
    """
    if not outcome.verdicts:
        return 0
    from lnlab.app.reviewing import review_of_run  # late: a run that is interrupted has none

    lines = review_of_run(outcome.summary.stored, outcome.results, outcome.verdicts)
    return sum(line.is_open for line in lines)


def exit_code(
    done: RunSummary, results: "Results", verdicts: "Sequence[Verdict]", fail_on: FailOn | None, questions: int = 0
) -> int:
    """How the command ends: interrupted before failed before contradicted before done."""
    if done.interrupted:
        return SIGNAL + done.interrupted
    if not results.ended:
        return FAILED
    if fail_on is FailOn.review:
        return CONTRADICTED if questions else 0
    return CONTRADICTED if fail_on and any(v.verdict == fail_on for v in verdicts) else 0


def next_steps(outcome: RunResult) -> list[str]:
    """What to do next."""
    summary, request = outcome.summary, outcome.request
    command = request.command("run")
    lines = [f"interrupted: {command} continues from here"] if summary.interrupted else []
    # A run that diverged has a result, and one without a status is still to come.
    failed = [failure for failure in outcome.failures if failure["status"] not in ("diverged", None)]
    if failed:
        lines.append(f"to try again what failed: {command} --retry-failed")
        lines.append(f"what the worker of one printed: lnlab why {str(failed[0]['key'])[:12]}")
    if summary.stored.undecided:
        return lines
    if any(verdict.verdict == "undecided" for verdict in outcome.verdicts):
        from lnlab.app.deciding import (  # late: it imports polars
            further_looks,
            further_seeds_lines,
            seconds_of_variants,
        )

        looks = further_looks(summary.stored.facts["claims"], outcome.results, outcome.verdicts)
        lines += further_seeds_lines(looks, seconds_of_variants(outcome.results))
    return [*lines, f"next: {request.command('report')}"]


def summary_line(outcome: RunResult) -> str:
    """``280 runs: 278 finished, 2 diverged; 12 units computed in 3.1 s, 268 reused``."""
    summary = outcome.summary
    results = outcome.results
    status_counts = ", ".join(
        f"{number} {status.replace('_', ' ')}" for status, number in status_counts_of_runs(results).items()
    )
    elapsed = f" in {format_duration(summary.seconds)}" if outcome.computed else ""
    units = f"{format_count(outcome.computed, 'unit')} computed{elapsed}, {outcome.reused} reused"
    tuned = f", after {format_count(summary.tuned, 'tuning unit')}" if summary.tuned else ""
    what = "tuning run" if summary.stored.undecided else "run"
    return f"{format_count(results.runs.height, what)}: {status_counts or 'none to compute'}; {units}{tuned}"
