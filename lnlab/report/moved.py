"""Pages that became part of another: ``moved.json`` beside the reports says which, and old addresses lead on.

    {"yu_lipschitz": "yu_smoothness"}      reports/yu_lipschitz/real/index.html leads to reports/yu_smoothness/real

``lnlab index`` writes the page of every old address. Such a folder holds nothing else, and is no report.
"""

import html
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import quote

from lnlab.errors import ReportError
from lnlab.issues import Issue
from lnlab.report.contents import read_file
from lnlab.userfiles import parse_json

MOVED_FILE = "moved.json"
_PAGE = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>{title}</title>
<meta http-equiv="refresh" content="0; url={address}">
<link rel="canonical" href="{address}">
<p>This page is part of <a href="{address}">{new}</a> now.</p>
</html>
"""


def moved_questions(root: Path) -> Mapping[str, str]:
    """The questions of a folder of reports that became part of another: old name -> new name, which has a report.

    Raises:
        ReportError: the file is no such table, or a name in it leads to no report.
    """
    where = str(root / MOVED_FILE)
    content = read_file(root, MOVED_FILE)
    if content is None:
        return {}
    try:
        table = parse_json(content)
    except ValueError as error:
        raise ReportError(Issue("unreadable", where, f"cannot be read: {error}", "write a JSON object")) from error
    if not isinstance(table, dict) or not all(isinstance(new, str) for new in table.values()):
        remedy = 'write a JSON object such as {"old_name": "new_name"}'
        raise ReportError(Issue("damaged", where, "holds no table of names", remedy))
    for old, new in table.items():
        if any(name in ("", ".", "..") or set(name) & set("/\\") for name in (old, new)):
            raise ReportError(Issue("damaged", where, f"{old} -> {new} are not names of folders", "leave out slashes"))
        if new in table or not any(_profiles_with_report(root / new)):
            what = f"{old} leads to {new}, which " + ("has moved itself" if new in table else "has no report")
            raise ReportError(Issue("damaged", where, what, "name the question that has the report"))
        if any(_profiles_with_report(root / old)):
            what = f"{old} leads to {new}, and has a report of its own"
            raise ReportError(Issue("conflict", where, what, "remove the report, or the line"))
    return table


def moved_pages(root: Path) -> dict[Path, bytes]:
    """The pages of all old addresses, which lead to the report of the same profile.

    Raises:
        ReportError: see ``moved_questions``.
    """
    pages = {}
    for old, new in moved_questions(root).items():
        for profile in _profiles_with_report(root / new):
            up = "../" * len((old, *profile.parts))
            address = up + quote(os.fsencode(Path(new, profile, "index.html").as_posix()))
            page = _PAGE.format(title=html.escape(old), new=html.escape(new), address=html.escape(address))
            pages[root / old / profile / "index.html"] = page.encode()
    return pages


def new_place(folder: Path) -> Path | None:
    """The report that a folder leads to where it held one, or None where it is not an old address."""
    for root, question in ((folder.parent, folder.name), (folder.parent.parent, folder.parent.name)):
        new = moved_questions(root).get(question)
        if new is not None:
            return root / new / folder.relative_to(root / question)
    return None


def _profiles_with_report(question: Path) -> Iterator[Path]:
    """The folders below that of a question, and this itself, that hold the tables of a report."""
    if (question / "data").is_dir():
        yield Path()
    if question.is_dir():
        for path in sorted(question.iterdir()):
            if path.name[0] != "." and (path / "data").is_dir():
                yield Path(path.name)
