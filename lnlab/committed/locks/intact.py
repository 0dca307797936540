"""Level 0: whether a lock, its spec and every file of its report are what was locked, and where they are not."""

import os
from collections.abc import Mapping
from dataclasses import asdict
from itertools import zip_longest
from pathlib import Path

from lnlab.committed.frozen import frozen_path, read_frozen
from lnlab.committed.locks.folder_contents import derived_tables, read_committed
from lnlab.committed.locks.lock_report import Lock, recorded_digest
from lnlab.committed.locks.lock_text import flat_entries, line_of_entry, lock_text
from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.keys import Json, digest_bytes
from lnlab.printable import shown_path
from lnlab.specfile.load import read_spec_text

_ABSENT = "nothing"
_EXPECTED_IN_LOCK = ("format", "report", "recorded", "code", "corpora", "margins", "spec", "files")
"""What is compared apart, or follows from nothing in the folder."""


def differences_from_lock(lock: Lock) -> list[Issue]:
    """Everything in which the committed files differ from a lock, or a lock from what lnlab writes."""
    differences = []
    if lock.path.stem != lock.tables["name"]:
        differences.append(Issue("differs", str(lock.path), f"is the lock of {lock.tables['name']}"))
    lines = zip_longest(lock.text.split("\n"), lock_text(lock.tables).split("\n"))
    if number := next((n for n, (present, written) in enumerate(lines, 1) if present != written), 0):
        what = "is not as lnlab lock writes it: edited, or merged badly"
        differences.append(Issue("differs", f"{lock.path}:{number}", what))
    if lock.tables["recorded"] != recorded_digest(lock.tables):  # nothing in the folder confirms these
        where = f"{lock.path}:{line_of_entry(lock.text, ('recorded',))}"
        differences.append(Issue("differs", where, "code, corpora or margins are not those that were locked"))
    try:
        if digest_bytes(read_spec_text(lock.spec).encode()) != lock.tables["spec"]:
            where = f"{lock.path}:{line_of_entry(lock.text, ('spec',))}"
            differences.append(Issue("differs", str(lock.spec), f"is not the text that was locked ({where})"))
    except LabError as error:
        differences += _as_differences(error)
    try:
        report = read_committed(lock.folder, lock.tables["files"])
    except LabError as error:
        line = line_of_entry(lock.text, ("report",))
        return [*differences, *(Issue("differs", f"{lock.path}:{line}", str(problem)) for problem in error.issues)]
    locked = lock.tables["files"]
    present = report.digests | dict.fromkeys(report.unread, "")
    for name in sorted(locked.keys() | present.keys() | report.foreign.keys()):
        place = shown_path(os.path.normpath(report.folder / name))
        if name in report.foreign:
            differences.append(Issue("differs", place, report.foreign[name]))
        elif locked.get(name) != present.get(name):
            what = "is not the file that was locked" if name in locked else "is not in the lock"
            line = line_of_entry(lock.text, ("files", name))
            what = f"{what if name in present else 'is missing'} ({lock.path}:{line})"
            differences.append(Issue("differs", place, what))
    try:
        derived = derived_tables(report)
    except LabError as error:
        return [*differences, *_as_differences(error)]
    if derived["spec"] != lock.tables["spec"]:
        where = f"{lock.path}:{line_of_entry(lock.text, ('spec',))}"
        differences.append(Issue("differs", where, "the report was drawn from another text of the spec"))
    stated, following = (  # entries of the lock, and those that follow from the folder
        flat_entries({key: value for key, value in tables.items() if key not in _EXPECTED_IN_LOCK})
        for tables in (lock.tables, derived)
    )
    differences += _differences_from_frozen(lock)
    for path in sorted(stated.keys() | following.keys()):
        if stated.get(path) != following.get(path):
            where = f"{lock.path}:{line_of_entry(lock.text, path)}: {'.'.join(path)}"
            setting = ""
            if path[0] == "groups":  # the variant in words
                groups = [tables["groups"].get(path[1]) for tables in (lock.tables, derived)]
                setting = next((g["setting"] for g in groups if isinstance(g, Mapping) and "setting" in g), "")
            what = f"the lock says {_shown(stated.get(path))}, the report {_shown(following.get(path))}"
            differences.append(Issue("differs", where, f"{what} ({setting})" if setting else what))
    return differences


def _differences_from_frozen(lock: Lock) -> list[Issue]:
    """Claims whose criteria were frozen by another day, or otherwise, than the lock says."""
    path = frozen_path(lock.spec)
    try:
        frozen = {claim: asdict(entry) for claim, entry in read_frozen(lock.spec, lock.profile).items()}
    except LabError as error:
        return _as_differences(error)
    stated = lock.tables.get("frozen", {})
    differences = []
    for claim in [claim for claim in lock.tables["verdicts"] if claim in {*frozen, *stated}]:
        of_lock = {name: value for name, value in stated.get(claim, {}).items() if name != "state"}
        of_file = {name: value for name, value in frozen.get(claim, {}).items() if value}
        if of_lock != of_file:
            where = f"{lock.path}:{line_of_entry(lock.text, ('frozen', claim))}"
            what = f"has another frozen criterion of {claim} than the lock ({where})"
            differences.append(
                Issue("differs", str(path), what, f"lnlab report --from {lock.folder.as_posix()}, then lock")
            )
    return differences


def _shown(value: Json) -> str:
    return _ABSENT if value is None else str(value)


def _as_differences(error: LabError) -> list[Issue]:
    return [
        Issue(each.code, each.where, f"{each.what}; {each.remedy}" if each.remedy else each.what)
        for each in error.issues
    ]


def locks_below(folder: Path) -> list[Path]:
    """The locks in a folder, by name."""
    return sorted(folder.glob("*.lock"))
