"""A mistake that the user can put right, from the YAML reader to the verdict: where it is, what it is, its remedy."""

from dataclasses import dataclass, replace
from typing import Literal

from lnlab.printable import printable

Where = tuple[str | int, ...]
"""A path in the data of a spec, or in a part of it: keys, and numbers in lists."""

Code = Literal[
    "syntax",  # the text cannot be read as what it should be
    "unknown-key",  # a key, a path or a parameter that nothing has
    "unknown-kind",  # no registered piece has this name
    "unknown-name",  # a claim, a method, a column, a profile ... that is named and not there
    "missing",  # something required is not given
    "wrong-type",
    "wrong-value",  # of the right type, and none of those that are allowed
    "wrong-length",
    "out-of-range",
    "duplicate",  # given twice
    "conflict",  # what is given twice over, or contradicts itself
    "no-effect",  # what is given changes nothing
    "unsupported",  # a piece cannot do this here
    "empty-selection",  # a selection selects nothing
    "ambiguous",  # a selection selects several things where one is needed
    "too-large",
    "out-of-memory",
    "not-found",
    "unreadable",
    "unwritable",
    "not-text",
    "damaged",
    "differs",  # not what was locked, recorded or drawn
    "exists",
    "busy",
    "not-run",
    "not-measured",
    "not-installed",
    "unreachable",
    "failed",
    "wrong-option",  # of a command or a call
    "more",  # how many more there are
]
"""What kind of mistake it is, whatever its words."""


@dataclass(frozen=True, order=True, slots=True)
class Mark:
    """A place in a text, with lines and columns from 1."""

    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class SourceLocation:
    """Where something of a spec was written.

    Attributes:
        path: in the document.
        argument: of the command line, instead.
        named: the path by which a message calls it: that of the setting, where a profile or a sweep wrote it.
    """

    path: Where = ()
    argument: str | None = None
    named: Where = ()

    def below(self, tail: Where) -> "SourceLocation":
        """A location inside this one."""
        return replace(self, path=(*self.path, *tail))

    def __str__(self) -> str:
        return self.argument or ".".join(map(str, self.path))


@dataclass(frozen=True)
class Issue:
    """One mistake in one line: ``place: what; remedy``.

    Attributes:
        code: its kind.
        place: on its way to the user first a mark in a text or a path in data, then where that was written in a spec,
            and in the end, in every exception, text such as ``spec.yaml:3:1``.
        what: is wrong.
        remedy: what to do instead. Empty where nobody knows.
    """

    code: Code
    place: str | Where | Mark | SourceLocation
    what: str
    remedy: str = ""

    def __str__(self) -> str:
        cause = f"{self.where}: {self.what}" if self.where else self.what
        text = printable(f"{cause}; {self.remedy}" if self.remedy else cause)
        return text.replace("\n", r"\n").replace("\t", r"\t")

    @property
    def where(self) -> str:
        """The place as text."""
        return ".".join(map(str, self.place)) if isinstance(self.place, tuple) else str(self.place)

    @property
    def path(self) -> Where:
        """The path in the data, as far as it is known."""
        if isinstance(self.place, SourceLocation):
            return self.place.named
        return self.place if isinstance(self.place, tuple) else ()

    @property
    def location(self) -> SourceLocation:
        """Where it was written in the spec.

        Raises:
            ValueError: it is not known yet.
        """
        if not isinstance(self.place, SourceLocation):
            raise ValueError(f"not located: {self}")
        return self.place

    def below(self, *prefix: str | int) -> "Issue":
        """The same issue seen from further up in the data."""
        return replace(self, place=(*prefix, *self.path))

    def at(self, location: SourceLocation) -> "Issue":
        """The issue with the location where it was written. Messages still name its path."""
        return replace(self, place=replace(location, named=self.path))
