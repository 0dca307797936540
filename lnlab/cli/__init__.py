"""The command line: parse, call, print. Each command imports the heavy modules that it needs.

Exit codes are those of ``lnlab.cli.codes``.
"""

import errno
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from gc import set_threshold
from inspect import getdoc
from pathlib import Path
from typing import Annotated

import typer
from typer.main import get_command

from lnlab import __version__
from lnlab.cli import check, data, init, kinds, plan, report, results, review, run, status, watch
from lnlab.cli.codes import BROKEN_PIPE, INTERRUPTED, NOT_PRINTED, SIGNAL, WRONG
from lnlab.cli.reports import index, paper
from lnlab.cli.reproduce import diff, gc, lock, ls, remotes, verify, why
from lnlab.cli.terminal import begin_output, detach_output, err, lost_output, one_line, out, report_lost_output
from lnlab.errors import LabError
from lnlab.execute.interrupts import Stopped, raising_stops
from lnlab.files import is_held, remedy_of_name
from lnlab.issues import Issue
from lnlab.plugins import WITHOUT_FOLDER
from lnlab.training_extra import absent_packages, begin_own_process, damage_told, needs_training
from lnlab.userfiles import user_path

app = typer.Typer(
    name="lnlab",
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Example: [bold]lnlab run specs/xiong_fig3.yaml[/bold], then [bold]lnlab report[/bold].",
)


@app.callback(invoke_without_command=True)
def _lnlab(
    context: typer.Context,
    # Not used here: options.all_plugins joins them with those behind the command.
    _plugins: Annotated[
        list[Path],
        typer.Option(
            "--with",
            metavar="FILE.py",
            parser=user_path,
            help="A Python file that registers norms, probes ... of your own.",
            default_factory=list,
            show_default=False,
        ),
    ],
    # For the help alone: `main` looks for the word itself, wherever it stands.
    _traceback: Annotated[bool, typer.Option("--traceback", help="Show where in the code an error arose.")] = False,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="With --version: what else is installed, and what each extra lacks.")
    ] = False,
) -> None:
    """One YAML file describes one experiment on Transformer training. lnlab runs it and judges its claims."""
    if version:
        lines: Iterable[str] = (f"lnlab {__version__}",)
        if verbose:
            from lnlab.app.installation import installation_lines

            lines = installation_lines()
        for line in lines:
            out().print(line)
        raise typer.Exit
    if verbose:
        raise LabError(Issue("no-effect", "lnlab", "--verbose stands beside --version", "leave it out"))
    if context.invoked_subcommand is None:
        context.get_help()


_COMMANDS = {
    "Everyday": (
        (init.init, init.INIT_EXAMPLE),
        (check.check_specs, check.CHECK_EXAMPLE),
        (plan.plan_spec, plan.PLAN_EXAMPLE),
        (run.run_spec, run.RUN_EXAMPLE),
        (review.review_spec, review.REVIEW_EXAMPLE),
        (report.report_run, report.REPORT_EXAMPLE),
        (results.results_of_spec, results.RESULTS_EXAMPLE),
        (status.status_of_store, status.STATUS_EXAMPLE),
        (watch.watch_runs, watch.WATCH_EXAMPLE),
        (kinds.list_kinds, kinds.LIST_EXAMPLE),
    ),
    "Sharing": (
        (index.index, index.INDEX_EXAMPLE),
        (paper.paper, paper.PAPER_EXAMPLE),
        (remotes.push, remotes.PUSH_EXAMPLE),
        (remotes.pull, remotes.PULL_EXAMPLE),
        (ls.ls, ls.LS_EXAMPLE),
        (gc.gc, gc.GC_EXAMPLE),
    ),
    "Provenance": (
        (lock.lock, lock.LOCK_EXAMPLE),
        (verify.verify, verify.VERIFY_EXAMPLE),
        (diff.diff, diff.DIFF_EXAMPLE),
        (why.why, why.WHY_EXAMPLE),
    ),
}
for _panel, _commands in _COMMANDS.items():
    for _command, _example in _commands:
        # Each paragraph of its docstring on one line, which the terminal breaks where it is full.
        _help = "\n\n".join(part.replace("\n", " ") for part in (getdoc(_command) or "").split("\n\n"))
        _name = _command.__name__.partition("_")[0]
        app.command(_name, help=_help, epilog=_example, rich_help_panel=_panel)(_command)
app.add_typer(data.data, name="data", rich_help_panel="Everyday")


_ALLOCATIONS = 200_000
"""Python looks for cycles after so many more objects. A command imports and reads many, of which few lie in cycles."""
# An OSError with one of these and without a file name is of standard output: files of ours are named.
_DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code. A user's mistake is one line on standard error, no traceback."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    # Called with arguments, as by a test, the process goes on and may need torch later.
    if arguments is None:
        begin_own_process()
        set_threshold(_ALLOCATIONS)
        os.environ.update(WITHOUT_FOLDER)
    begin_output()
    code = _code_of(words)
    if lost := lost_output():
        err().print(f"lnlab: standard output cannot be written: {lost}; what is finished is kept")
        return code or NOT_PRINTED  # what went wrong before counts more
    return code


@cache  # a notebook or a script may call ``main`` often
def _whole_command() -> Callable[..., int | None]:
    return get_command(app)


def _code_of(words: Sequence[str]) -> int:
    """Run one command and return its exit code, whether or not its results could be printed."""
    try:
        with raising_stops(), damage_told():
            arguments = [word for word in words if word != "--traceback"]
            return _whole_command()(arguments, prog_name="lnlab", standalone_mode=False) or 0
    except BrokenPipeError:
        detach_output()
        return BROKEN_PIPE
    except Stopped as stop:
        err().print(f"lnlab: stopped by {stop}; what is finished is kept")
        return SIGNAL + stop.number
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except ImportError as error:
        package = (error.name or "").partition(".")[0]
        # A package of the extra is a user's choice; whatever else cannot be imported is a bug.
        if package not in absent_packages() or "--traceback" in words:
            raise
        command = next((word for word in words if not word.startswith("-")), "")
        err().print(one_line(str(needs_training(f"lnlab {command}".rstrip(), package))))
        return WRONG
    except (LabError, typer.TyperException, OSError) as error:
        if isinstance(error, OSError) and error.filename is None and error.errno in _DISK_FULL:
            report_lost_output(error)  # what Typer prints, as help, passes our consoles by
            return NOT_PRINTED
        # Files of a user are named in the error: one without a name is a bug.
        if "--traceback" in words or (isinstance(error, OSError) and error.filename is None):
            raise
        for line in _lines(error):
            err().print(one_line(line))
        return WRONG


def _lines(error: Exception) -> list[str]:
    """Return a line for each problem. A mistake in the command names the command and its help."""
    if isinstance(error, LabError):
        return [str(problem) for problem in error.issues]
    if isinstance(error, OSError):
        remedy = remedy_of_name(error) or (is_held(error) and "close the program that has it open") or ""
        return [f"{error.filename}: {(error.strerror or type(error).__name__).lower()}{'; ' * bool(remedy)}{remedy}"]
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "lnlab"
    close = " or ".join(getattr(error, "possibilities", None) or ())
    text = error.format_message() if isinstance(error, typer.TyperException) and not close else str(error)
    message = f"{text}; did you mean {close}?" if close else text
    if not message:  # a group without a command has printed its help
        return []
    sentence = (message[:1].lower() + message[1:].rstrip(".")).replace(". Did you mean", "; did you mean")
    return [f"{command}: {sentence}{' ' if sentence.endswith('?') else '; '}see {command} --help"]
