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


@dataclass(frozen=True)
class Issue:
    """One mistake in one line: ``place: what; remedy``.

    Attributes:
        code: its kind.
        place: a mark in a text, or a path in data. In every exception it is text such as ``spec.yaml:3:1``.
        what: is wrong.
        remedy: what to do instead. Empty where nobody knows.
        named: how the message calls the place. None means by its path.
    """

    code: Code
    place: str | Where | Mark
    what: str
    remedy: str = ""
    named: Where | None = None

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
        """The path in the data, or the empty path where the place is none."""
        return self.place if isinstance(self.place, tuple) else ()

    @property
    def about_key(self) -> bool:
        """Whether the key is wrong, not its value."""
        return self.code == "unknown-key"

    def below(self, *prefix: str | int) -> "Issue":
        """The same issue seen from further up in the data."""
        return replace(self, place=(*prefix, *self.path))
