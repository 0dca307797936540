"""All output to a terminal: no text of a user passes it raw, and a lost standard error ends no command."""

import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, NoReturn, TextIO

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from lnlab.printable import printable

_UNBOUNDED = 100_000


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
    """A console on a standard stream: a terminal as it is, anything else with lines never wrapped."""
    file: Any = stream
    width = None if stream.isatty() else _UNBOUNDED
    return SafeConsole(file=file, width=width, markup=False, highlight=False, emoji=False)


def stderr_console() -> Console:
    """Standard error, for progress, hints and errors."""
    return console_of(StandardStream("stderr"))
