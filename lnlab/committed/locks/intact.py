"""Level 0: whether a lock, its spec and every file of its report are what was locked, and where they are not."""

import os
from collections.abc import Mapping
from itertools import zip_longest

from lnlab.committed.committed_report import locked_tables, read_committed
from lnlab.committed.frozen import frozen_path, read_frozen
from lnlab.committed.locks.lock_report import Lock
from lnlab.committed.locks.lock_text import flat_entries, line_of_entry, lock_text
from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.keys import Json, digest_bytes
from lnlab.printable import shown_path
from lnlab.report.words.look_words import frozen_sentence
from lnlab.specfile.load import read_spec_text


def differences_from_lock(lock: Lock) -> tuple[list[Issue], str]:
    """Everything in which the committed files differ from a lock, or a lock from what lnlab writes.

    Returns:
        the differences, and the sentence on frozen criteria, which is empty where none are frozen.
    """

    def line(*path: str) -> str:
        return f"{lock.path}:{line_of_entry(lock.text, path)}"

    differences = []
    if lock.path.stem != lock.tables["name"]:
        differences.append(Issue("differs", str(lock.path), f"is the lock of {lock.tables['name']}"))
    lines = zip_longest(lock.text.split("\n"), lock_text(lock.tables).split("\n"))
    if number := next((n for n, (present, written) in enumerate(lines, 1) if present != written), 0):
        what = "is not as lnlab lock writes it: edited, or merged badly"
        differences.append(Issue("differs", f"{lock.path}:{number}", what))
    try:
        if digest_bytes(read_spec_text(lock.spec).encode()) != lock.tables["spec"]:
            differences.append(Issue("differs", str(lock.spec), f"is not the text that was locked ({line('spec')})"))
    except LabError as error:
        differences += _as_differences(error)
    locked = lock.tables["files"]
    try:
        report = read_committed(lock.folder, locked)
    except LabError as error:
        return [*differences, *(Issue("differs", line("report"), str(problem)) for problem in error.issues)], ""
    present = report.digests | dict.fromkeys(report.unread, "")
    for name in sorted(locked.keys() | present.keys() | report.foreign.keys()):
        place = shown_path(os.path.normpath(report.folder / name))
        if name in report.foreign:
            differences.append(Issue("differs", place, report.foreign[name]))
        elif locked.get(name) != present.get(name):
            what, remedy = "is not the file that was locked" if name in locked else "is not in the lock", ""
            if digest_bytes(report.contents.get(name, b"").replace(b"\r\n", b"\n")) == locked.get(name):
                what = "is the file that was locked but for its line ends, which git changed"
                remedy = "write '* text=auto eol=lf' into .gitattributes and check it out again"
            what = f"{what if name in present else 'is missing'} ({line('files', name)})"
            differences.append(Issue("differs", place, what, remedy))
    try:
        following = flat_entries({**locked_tables(report), "files": {}})
    except LabError as error:
        return [*differences, *_as_differences(error)], ""
    stated = flat_entries({key: lock.tables[key] for key in lock.tables if key not in ("format", "report", "files")})
    for path in sorted(stated.keys() | following.keys()):
        if stated.get(path) != following.get(path):
            said, found = stated.get(path, "nothing"), following.get(path, "nothing")
            what = f"{'.'.join(path)}: the lock says {said}, the report {found}"
            differences.append(Issue("differs", line(*path), what))
    frozen = report.parsed[0].frozen
    return [*differences, *_differences_from_frozen(lock, frozen)], frozen_sentence(
        frozen, list(lock.tables["verdicts"])
    )


def _differences_from_frozen(lock: Lock, stated: Mapping[str, Mapping[str, Json]]) -> list[Issue]:
    """Claims whose criteria were frozen by another day, or otherwise, than the report says."""
    path = frozen_path(lock.spec)
    try:
        frozen = read_frozen(lock.spec, lock.profile)
    except LabError as error:
        return _as_differences(error)
    differences = []
    for claim in [claim for claim in lock.tables["verdicts"] if claim in {*frozen, *stated}]:
        of_report = {name: value for name, value in stated.get(claim, {}).items() if name != "state"}
        if of_report != frozen.get(claim, {}):
            what = f"has another frozen criterion of {claim} than the report"
            remedy = f"lnlab report --from {lock.folder.as_posix()}, then lock"
            differences.append(Issue("differs", str(path), what, remedy))
    return differences


def _as_differences(error: LabError) -> list[Issue]:
    return [
        Issue(each.code, each.where, f"{each.what}; {each.remedy}" if each.remedy else each.what)
        for each in error.issues
    ]
