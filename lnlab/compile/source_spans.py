"""From an issue of a setting back to the line of the file, or the argument, that it came from."""

from collections.abc import Iterable
from dataclasses import replace

from lnlab.issues import Issue
from lnlab.specfile.load import SpecDocument

UNKNOWN = "unknown key"


def about_key(issue: Issue) -> bool:
    """Whether the key is wrong, not its value."""
    return issue.code == "unknown-key"


def as_read(issues: Iterable[Issue], document: SpecDocument) -> list[Issue]:
    """Located issues as the user reads them, at ``file:line:col``, in the order of the file, arguments last.

    Each issue names its path first. Issues that aliases repeat are one issue in one place of the file.
    """

    def rank(issue: Issue) -> tuple[bool, int, int]:
        mark = document.mark(issue.location.path)
        return issue.location.argument is not None, mark.line, mark.column

    distinct: dict[tuple[str, str, str], tuple[tuple[bool, int, int], Issue]] = {}
    for issue in issues:
        location, path = issue.location, issue.path
        where = location.argument or document.where(location.path, key=about_key(issue))
        path = path if len(path) < 2 or path[-2] != "expr" else path[:-1]  # below a text stands where in it
        if path[-1:] == ("kind",) and location.path not in document.marks:  # a bare word was written
            path = path[:-1]
        dotted = ".".join(map(str, path))
        what = f"{dotted}: {issue.what}" if dotted else issue.what
        distinct.setdefault((where, issue.what, issue.remedy), (rank(issue), replace(issue, place=where, what=what)))
    return [issue for _, issue in sorted(distinct.values(), key=lambda ranked: ranked[0])]
