"""From a flaw in a setting back to the line of the file, or the argument, that it came from."""

from dataclasses import dataclass, replace

from lnlab.errors import Problem
from lnlab.registry import Flaw, Where
from lnlab.specfile.load import SpecDocument

UNKNOWN = "unknown key"


@dataclass(frozen=True)
class SourceLocation:
    """Where something was written: a path in the document, or an argument of the command line."""

    path: Where = ()
    argument: str | None = None

    def below(self, tail: Where) -> "SourceLocation":
        """A location inside this one."""
        return replace(self, path=(*self.path, *tail))


def about_key(flaw: Flaw) -> bool:
    """Whether the key is wrong, not its value."""
    if flaw.path[:1] == ("claim_seeds",) and "no claim is called" in flaw.what:
        return True
    return any(words in flaw.what for words in (UNKNOWN, "has no parameter", "has no key"))


def as_problem(document: SpecDocument, location: SourceLocation, flaw: Flaw) -> Problem:
    """The flaw as the user reads it; ``flaw.path`` is printed, ``location`` says where it is written."""
    where = location.argument or document.where(location.path, key=about_key(flaw))
    path = flaw.path
    if path[-1:] == ("kind",) and location.path not in document.marks:  # a bare word was written
        path = path[:-1]
    dotted = ".".join(map(str, path))
    return Problem(where, f"{dotted}: {flaw.what}" if dotted else flaw.what, flaw.remedy)


def as_problems(
    document: SpecDocument, flaws: list[tuple[SourceLocation, Flaw]]
) -> list[tuple[SourceLocation, Problem]]:
    """The flaws as the user reads them. What aliases repeat is one flaw in one place of the file."""
    unique: dict[tuple[str, str, str], tuple[SourceLocation, Problem]] = {}
    for location, flaw in flaws:
        rendered = as_problem(document, location, flaw)
        unique.setdefault((rendered.where, flaw.what, flaw.remedy), (location, rendered))
    return list(unique.values())


def problems_in_order(document: SpecDocument, problems: list[tuple[SourceLocation, Problem]]) -> list[Problem]:
    """Each distinct problem once, in the order of the file; those of the command line last."""

    def rank(item: tuple[SourceLocation, Problem]) -> tuple[bool, int, int]:
        mark = document.mark(item[0].path)
        return (item[0].argument is not None, mark.line, mark.column)

    return list(dict.fromkeys(problem for _, problem in sorted(problems, key=rank)))
