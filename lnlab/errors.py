"""What a user can put right: where the mistake is, what it is, and its remedy."""

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches

from lnlab.printable import printable


@dataclass(frozen=True, order=True)
class Problem:
    """One mistake in one line: ``where: what; remedy``."""

    where: str
    what: str
    remedy: str = ""

    def __str__(self) -> str:
        cause = f"{self.where}: {self.what}" if self.where else self.what
        text = printable(f"{cause}; {self.remedy}" if self.remedy else cause)
        return text.replace("\n", r"\n").replace("\t", r"\t")


class LabError(Exception):
    """Problems that the user can put right. The command line prints them; anything else is a bug with a traceback."""

    def __init__(self, *problems: Problem) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = problems

    def __reduce__(self) -> tuple[type["LabError"], tuple[Problem, ...]]:
        """Pickled as its problems, so that it survives the way between processes."""
        return type(self), self.problems


class SpecError(LabError):
    """The spec, or an override given with it, is wrong."""


class CorpusError(LabError):
    """A corpus is absent, damaged or malformed."""


class StoreError(LabError):
    """The store cannot be read or written."""


class ReportError(LabError):
    """A report cannot be made from what is stored."""


def nearest(word: str, known: Iterable[str]) -> str:
    """``did you mean 'x'? (known: ...)``: the remedy for a word that is not one of ``known``."""
    words = sorted(set(known))
    if not words:
        return "none is known yet"
    listing = f"known: {', '.join(words)}"
    close = closest(word, words)
    return f"did you mean '{close}'? ({listing})" if close else listing


def closest(word: str, known: Iterable[str]) -> str | None:
    """The known word that was most likely meant, or None where none is near.

    Two neighbouring letters exchanged are one edit, and the likeliest: ``rl`` for ``lr``, which share one letter in
    order only. Where no word is near, one that differs in capitals alone is.
    """
    words = sorted(set(known))
    transposed = {word[:i] + word[i + 1] + word[i] + word[i + 2 :] for i in range(len(word) - 1)} - {word}
    candidates = [candidate for candidate in words if candidate in transposed] or get_close_matches(word, words, n=1)
    candidates = candidates or [candidate for candidate in words if candidate.casefold() == word.casefold()]
    return candidates[0] if candidates else None
