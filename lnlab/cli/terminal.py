"""How the command line prints: results to standard output, everything else to standard error.

A terminal gets tables and colours (none under ``NO_COLOR``); a pipe gets one line a row, never wrapped.
"""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from io import TextIOWrapper
from typing import Any, NoReturn

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console, RenderableType
from rich.table import Table

from lnlab.cli.codes import BROKEN_PIPE

_UNBOUNDED = 100_000


class _QuietConsole(Console):
    """A reader that goes away (``| head``) ends the command without a word."""

    def on_broken_pipe(self) -> NoReturn:
        leave_pipe()
        raise typer.Exit(BROKEN_PIPE)


def leave_pipe() -> None:
    """Point standard output at nothing, so that the interpreter's last flush is quiet as well."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _console(*, stderr: bool) -> Console:
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else _UNBOUNDED
    return _QuietConsole(stderr=stderr, width=width, markup=False, highlight=False, emoji=False)


def out() -> Console:
    """Where results go."""
    return _console(stderr=False)


def err() -> Console:
    """Where progress, hints and errors go."""
    return _console(stderr=True)


def tolerate_encoding() -> None:
    """A terminal that cannot show a symbol shows a question mark instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")


def one_line(text: str) -> str:
    """``text`` on one line; whatever could move the cursor or colour the terminal is shown as its escape."""
    joined = " ".join(text.split())
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in joined)


def terminal_table(
    columns: Sequence[str], rows: Sequence[Sequence[RenderableType]], *, numeric: Sequence[str] = ()
) -> Table:
    """A table that fits the terminal; ``numeric`` columns stand to the right. Cells that are text are not markup."""
    rich_table = Table(box=SIMPLE_HEAD if sys.stdout.isatty() else None, pad_edge=False, show_edge=False)
    for name in columns:
        rich_table.add_column(name, justify="right" if name in numeric else "left", overflow="fold")
    for row in rows:
        rich_table.add_row(*row)
    return rich_table


def print_json(value: Any) -> None:
    """``value`` as JSON, indented, on standard output; NaN, which JSON lacks, as null."""
    out().out(json.dumps(_without_nan(value), indent=2, ensure_ascii=False, allow_nan=False, default=str))


def _without_nan(value: Any) -> Any:
    if isinstance(value, float):
        return value if value - value == 0 else None
    if isinstance(value, Mapping):
        return {key: _without_nan(item) for key, item in value.items()}
    return [_without_nan(item) for item in value] if isinstance(value, list | tuple) else value
