"""From an issue with a path to the line of the file, or the argument, that it came from."""

from collections.abc import Iterable
from dataclasses import replace

from lnlab.issues import Issue, Mark
from lnlab.specfile.load import SpecDocument

UNKNOWN = "unknown key"


def about_key(issue: Issue) -> bool:
    """Whether the key is wrong, not its value."""
    return issue.code == "unknown-key"


def as_read(issues: Iterable[Issue], document: SpecDocument) -> list[Issue]:
    """Issues with places in a document as the user reads them, at ``file:line:col``, in the order of the file.

    Those of arguments come last. Issues that aliases repeat are one issue in one place of the file.
    """
    distinct: dict[tuple[str, str, str], tuple[tuple[bool, Mark], Issue]] = {}
    for issue in issues:
        place, path = issue.place, issue.path if issue.named is None else issue.named
        where = document.where(place, key=about_key(issue)) if isinstance(place, tuple) else str(place)
        path = path if len(path) < 2 or path[-2] != "expr" else path[:-1]  # below a text stands where in it
        if path[-1:] == ("kind",) and isinstance(place, tuple) and place not in document.marks:
            path = path[:-1]  # a bare word was written
        dotted = ".".join(map(str, path))
        what = f"{dotted}: {issue.what}" if dotted else issue.what
        rank = not isinstance(place, tuple), document.mark(issue.path)
        distinct.setdefault((where, issue.what, issue.remedy), (rank, replace(issue, place=where, what=what)))
    return [issue for _, issue in sorted(distinct.values(), key=lambda ranked: ranked[0])]
