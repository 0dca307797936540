"""How the command line prints: results to standard output, everything else to standard error.

A terminal gets tables and colours (none under ``NO_COLOR``). A pipe gets one line a row, never wrapped.
"""

import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from io import TextIOWrapper
from pathlib import PurePath
from typing import Any, TextIO

from rich.box import SIMPLE_HEAD
from rich.console import Console, RenderableType
from rich.table import Table

from lnlab.consoles import StandardStream, console_of, stderr_console
from lnlab.printable import printable, printable_line

_NOT_PRINTABLE = re.compile(
    "[\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
"""What JSON may hold as it is, and a terminal should not be sent."""


class _Results(StandardStream):
    """Standard output. A reader that goes away (``| head``) ends the command. Any other failure is kept for its end.

    So a full disk behind ``> FILE`` does not stop what the command writes elsewhere.
    """

    def __init__(self) -> None:
        super().__init__("stdout")
        self.lost: str | None = None

    @property
    def stream(self) -> TextIO | None:
        """The file, or None where it is closed or has failed before."""
        return None if self.lost else super().stream

    def write(self, text: str) -> int:
        """Write. Without standard output, remember that a result was lost."""
        if super().stream is None:
            self.lost = self.lost or "it is closed"
        return super().write(text)

    def failed(self, error: OSError | ValueError) -> None:
        """Remember a failure.

        Raises:
            BrokenPipeError: the reader has closed the pipe.
        """
        if isinstance(error, BrokenPipeError):
            raise error
        self.lost = (getattr(error, "strerror", None) or str(error)).lower()
        detach_output()


# One object, so that the end of a command knows what any console failed to write.
_results = _Results()


def begin_output() -> None:
    """Prepare the standard streams for a command. One that the process was started without becomes the null device.

    An open file must not get the number of a closed stream, as libraries and workers that print there would write into
    it.
    """
    _results.lost = None  # a process may run several commands
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free: this one
    tolerate_encoding()


def lost_output() -> str | None:
    """Why results could not be printed, or None if all were."""
    _results.flush()
    return _results.lost


def report_lost_output(error: OSError) -> None:
    """Note that standard output failed where something else printed."""
    _results.failed(error)


def detach_output() -> None:
    """Point standard output at nothing, so that the interpreter's last flush is quiet as well."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def out() -> Console:
    """Where results go."""
    return console_of(_results)


def out_width() -> int | None:
    """How many columns standard output has, or None where it is no terminal."""
    return out().width if _results.isatty() else None


def err() -> Console:
    """Where progress, hints and errors go."""
    return stderr_console()


def tolerate_encoding() -> None:
    """Let a terminal that cannot show a symbol show a question mark instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")


def one_line(text: str) -> str:
    """``text`` on one line. Characters that could move the cursor or colour the terminal are shown as escapes."""
    return printable_line(text)


def terminal_table(
    columns: Sequence[str], rows: Sequence[Sequence[RenderableType]], *, numeric: Sequence[str] = ()
) -> Table:
    """A table that fits the terminal. ``numeric`` columns are aligned right. Cells that are text are not markup."""
    rich_table = Table(box=SIMPLE_HEAD if _results.isatty() else None, pad_edge=False, show_edge=False)
    for name in columns:
        # A long word goes on in the next line: cut, it could not be copied.
        rich_table.add_column(name, justify="right" if name in numeric else "left", overflow="fold")
    for row in rows:
        rich_table.add_row(*row)
    return rich_table


def print_json(value: Any) -> None:
    """Print ``value`` as indented JSON on standard output, with null for NaN, which JSON lacks."""
    text = json.dumps(_plain(value), indent=2, ensure_ascii=False, allow_nan=False, default=str)
    out().out(_NOT_PRINTABLE.sub(lambda match: json.dumps(match[0])[1:-1], text))


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return value if value - value == 0 else None  # inf - inf and nan - nan are NaN
    if isinstance(value, str | PurePath):  # half a character is a byte of a path, which JSON cannot hold
        return re.sub("[\ud800-\udfff]", lambda match: printable(match[0]), str(value))
    if isinstance(value, Mapping):
        return {_plain(key): _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value
