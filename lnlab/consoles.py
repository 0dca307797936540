"""All output to a terminal or a notebook: no text of a user passes raw, and a lost standard error ends no command."""

import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from html import escape
from typing import Any, NoReturn, TextIO, TypeVar

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from lnlab.printable import printable

_UNBOUNDED = 100_000
_CELL = 110
"""Characters of a line in the output of a cell."""
_BETWEEN_SHOWN = 0.2
"""Seconds between two states of a bar in a notebook."""
_Item = TypeVar("_Item")


class SafeConsole(Console):
    """A console that shows every text as ``printable`` has it.

    What Rich itself sends to move the cursor is apart from the text, and passes.
    """

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """The segments of what is printed, their text made printable."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(printable(segment.text), segment.style)

    def on_broken_pipe(self) -> NoReturn:
        """Let the command decide how it ends when its reader has closed the pipe.

        Raises:
            BrokenPipeError: always.
        """
        raise BrokenPipeError


class StandardStream:
    """A standard stream by its name, whichever file it is now: tests, notebooks and Rich replace it."""

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def stream(self) -> TextIO | None:
        """The file, or None where the process was started without it."""
        stream: TextIO | None = getattr(sys, self.name)
        # While it shows a bar, Rich stands in for the stream and would print to itself.
        return getattr(stream, "rich_proxied_file", stream)

    def failed(self, error: OSError | ValueError) -> None:
        """Called with what went wrong. Standard error ignores it: there is nowhere to say so."""

    def write(self, text: str) -> int:
        """Write what can be written."""
        try:
            if self.stream is not None:
                self.stream.write(text)
        except (OSError, ValueError) as error:  # a closed file is a ValueError
            self.failed(error)
        return len(text)

    def flush(self) -> None:
        """Flush what can be flushed."""
        try:
            if self.stream is not None:
                self.stream.flush()
        except (OSError, ValueError) as error:
            self.failed(error)

    def isatty(self) -> bool:
        """Whether it is a terminal."""
        with suppress(ValueError):
            return self.stream is not None and self.stream.isatty()
        return False

    def fileno(self) -> int:
        """The descriptor.

        Raises:
            OSError: there is none.
        """
        if self.stream is None:
            raise OSError(f"{self.name} is closed")
        return self.stream.fileno()

    @property
    def encoding(self) -> str:
        """The encoding of the stream."""
        return getattr(self.stream, "encoding", None) or "utf-8"


def console_of(stream: StandardStream) -> Console:
    """A console on a standard stream: a terminal as it is, a cell of a notebook, else lines that are never wrapped."""
    file: Any = stream
    width = None if stream.isatty() else _CELL if in_notebook() else _UNBOUNDED
    return SafeConsole(file=file, width=width, markup=False, highlight=False, emoji=False)


def stderr_console() -> Console:
    """Standard error, for progress, hints and errors."""
    return console_of(StandardStream("stderr"))


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return getattr(shell, "kernel", None) is not None


class NotebookBar:
    """A bar in the output of a cell. The kernel draws it anew in place and asks for no package beside it."""

    def __init__(self) -> None:
        self._shown: Any = None
        self._at = 0.0
        self.share, self.text = 0.0, ""

    def show(self, share: float, text: str, *, ended: bool = False) -> None:
        """Show what share of the work is done, and say so in words. What comes too soon after the last is left out."""
        self.share, self.text = (1.0 if ended else min(share, 1.0)), text
        now = time.monotonic()
        if not ended and now - self._at < _BETWEEN_SHOWN:
            return
        self._at = now
        if self._shown is None:
            from IPython.display import display  # late: there is IPython where there is a notebook

            show: Any = display  # it has no types
            self._shown = show(self, display_id=True)
        else:
            self._shown.update(self)

    def __repr__(self) -> str:
        return printable(self.text)

    def _repr_html_(self) -> str:
        bar = f'<progress value="{self.share:.3f}" style="width: 16em; vertical-align: middle"></progress>'
        return f'<div style="font-size: 0.9em">{bar} {escape(printable(self.text))}</div>'


def followed(work: Sequence[_Item], what: str, *, shown: bool = True) -> Iterator[_Item]:
    """The items of some work, with a bar on a terminal or in a notebook that counts those that are done."""
    console = stderr_console()
    if shown and in_notebook():
        bar = NotebookBar()
        for done, item in enumerate(work):
            bar.show(done / len(work), f"{what}: {done} of {len(work)}")
            yield item
        bar.show(1.0, f"{what}: {len(work)} of {len(work)}", ended=True)
    else:
        from rich.progress import track  # late: most commands show no bar

        yield from track(work, what, console=console, transient=True, disable=not (shown and console.is_terminal))
