"""Whose report a folder holds: the question of a report is the file of its spec.

``path`` of a report is the spec as the command line named it. Where that does not lead to the file from a folder that
holds the report, ``origin`` does, from the folder of the report. A spec that was edited is the same question, and so is
a copy with the same text. A spec that is gone, or was written in Python, is recognised by its name and title. A report
that was measured from Python has no spec, and replaces only another such report.
"""

import os
from dataclasses import replace
from pathlib import Path

from lnlab.errors import ReportError
from lnlab.issues import Issue
from lnlab.printable import path_as_shown, shown_path
from lnlab.report.contents import EXPERIMENT_FILE, read_file
from lnlab.report.facts import ReportFacts
from lnlab.userfiles import parse_json


def spec_of_report(folder: Path, path: str, origin: str = "") -> Path | None:
    """The file of the spec of a report, or None where it is gone.

    Args:
        folder: of the report.
        path: of its facts.
        origin: of its facts.
    """
    whole = Path(os.path.realpath(folder))
    if origin:
        return _file(whole, origin)
    return next((file for place in whole.parents if (file := _file(place, path))), None)


def find_spec(folder: Path, facts: ReportFacts) -> Path | None:
    """The spec that a report names, below the working folder, below one that holds the report, or where it was then."""
    here = Path(path_as_shown(facts.path))
    if here.is_file():
        return here
    return spec_of_report(folder, facts.path) or spec_of_report(folder, facts.path, facts.origin)


def _file(place: Path, path: str) -> Path | None:
    """The file at a path as a report has it."""
    candidates = (place / path, place / path_as_shown(path))
    return next((candidate for candidate in candidates if candidate.is_file()), None)


def with_origin(folder: Path, facts: ReportFacts, spec: Path | None) -> ReportFacts:
    """The facts of a report in this folder, with ``origin`` where ``path`` alone does not lead to the spec."""
    if spec is None or not spec.is_file():
        return replace(facts, origin="")
    found = spec_of_report(folder, facts.path)
    if found is not None and found.samefile(spec):
        return replace(facts, origin="")
    return replace(facts, origin=shown_path(os.path.relpath(os.path.realpath(spec), os.path.realpath(folder))))


def refuse_other_question(folder: Path, facts: ReportFacts, spec: Path | None) -> None:
    """Refuse to replace the report of another question.

    A report that cannot be read may be replaced, as the remedy for it is to write it again.

    Args:
        folder: where the report will be written.
        facts: of the report.
        spec: the file of its spec, where it has one.

    Raises:
        ReportError: the folder holds the report of another question.
    """
    try:  # as JSON, as it may be of a format that this lnlab does not read
        content = read_file(folder, EXPERIMENT_FILE)
        before = None if content is None else parse_json(content)
    except (ReportError, ValueError):
        return
    if not isinstance(before, dict):
        return
    path = before.get("path")
    if not path or not facts.path:  # measured from Python
        is_same = not path and not facts.path
    elif before.get("spec") == facts.spec:
        is_same = True
    else:
        own = None
        if spec is not None and spec.is_file():
            own = spec_of_report(folder, str(path), str(before.get("origin", ""))) or _file(Path(), str(path))
        names = (before.get("name"), before.get("title"))
        is_same = own.samefile(spec) if own and spec else names == (facts.name, facts.title)
    if is_same:
        return
    of = f"{before.get('path') or 'Python'}, “{before.get('title')}”"
    remedy = "choose another folder with --out, or replace it with --replace"
    raise ReportError(Issue("differs", str(folder), f"holds the report of another question: of {of}", remedy))
