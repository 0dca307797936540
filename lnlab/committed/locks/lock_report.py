"""``lnlab lock``: the lock of a committed report, written beside its spec."""

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from lnlab.committed.committed_report import locked_tables, read_committed
from lnlab.committed.locks.lock_text import LockTables, lock_text, parse_lock
from lnlab.errors import LabError, ReportError
from lnlab.files import replacing
from lnlab.issues import Issue
from lnlab.portable_names import why_unportable
from lnlab.report.contents import EXPERIMENT_FILE, is_report, read_file
from lnlab.report.folder import read_facts
from lnlab.report.same_question import find_spec
from lnlab.specfile.load import read_spec_text
from lnlab.userfiles import read_user_file

LOCK_FORMAT = 2
LOCK_SUFFIX = ".lock"
LARGEST_LOCK = 4 * 1024 * 1024


@dataclass(frozen=True)
class Lock:
    """A lock as it was read or made.

    Attributes:
        path: of its file.
        tables: its content.
        text: as it stands in the file.
    """

    path: Path
    tables: LockTables
    text: str

    @property
    def folder(self) -> Path:
        """The folder of the report."""
        return Path(os.path.normpath(self.path.parent / self.tables["report"]))

    @property
    def spec(self) -> Path:
        """The file of the spec."""
        return self.path.with_name(f"{self.tables['name']}.yaml")

    @property
    def profile(self) -> str | None:
        """The profile of the spec, or None for the default."""
        return self.tables["profile"] or None


def write_lock(spec: Path, profile: str | None, *, folder: Path | None = None) -> tuple[Lock, bool]:
    """Lock the committed report of a spec: ``<spec>.lock`` beside it.

    Args:
        spec: the file of the spec.
        profile: of the report. None means the default one.
        folder: of the report. None means ``reports/<name>/<profile>`` in the working folder or in one that holds the
            spec.

    Returns:
        the lock, and whether its file is another one than before.

    Raises:
        ReportError: there is no such report, it was drawn from another text of the spec, or a table is unreadable.
        LabError: the lock of another profile stands there.
    """
    folder = folder or report_of_spec(spec, profile)
    report = read_committed(folder)
    facts = report.parsed[0]
    if facts.spec != read_spec_text(spec):
        what = f"was drawn from another text of {spec.as_posix()}"
        remedy = f"draw it again: lnlab report --from {folder.as_posix()}"
        raise ReportError(Issue("differs", str(folder), what, remedy))
    path = spec.with_suffix(LOCK_SUFFIX)
    locked = facts.profile
    with suppress(LabError):  # a lock that cannot be read is replaced
        locked = read_lock(path).profile
    if locked != facts.profile:
        what = f"locks profile {locked or 'default'}, not {facts.profile or 'default'}"
        raise LabError(Issue("no-effect", str(path), what, "remove it first if that is meant"))
    location = Path(os.path.relpath(folder.resolve(), path.resolve().parent)).as_posix()
    tables = {"format": LOCK_FORMAT, "report": location, **locked_tables(report)}
    text = lock_text(tables)
    changed = not path.is_file() or path.read_bytes() != text.encode()
    if changed:
        with replacing(path) as file:
            file.write(text.encode())
    return Lock(path, tables, text), changed


def read_lock(path: Path) -> Lock:
    """A lock.

    Raises:
        LabError: it cannot be read, or is not a lock that this lnlab knows.
    """
    content = read_user_file(path, "lock", LARGEST_LOCK)
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise LabError(Issue("not-text", str(path), "is not UTF-8", "make it again with lnlab lock")) from error
    if text.count("\r\n") == text.count("\n"):  # git checks out so on Windows
        text = text.replace("\r\n", "\n")
    tables = parse_lock(text, str(path))
    if tables.get("format") != LOCK_FORMAT:
        what = f"is a lock of format {tables.get('format')}, and this lnlab reads {LOCK_FORMAT}"
        raise LabError(Issue("damaged", str(path), what, "make it again with lnlab lock"))
    wrong = [name for name in ("name", "profile", "report", "plan", "spec") if not isinstance(tables.get(name), str)]
    wrong += [name for name in ("files", "verdicts") if not isinstance(tables.get(name), dict)]
    if wrong:
        raise LabError(Issue("missing", str(path), f"lacks {', '.join(wrong)}", "make it again with lnlab lock"))
    for name in ("name", "profile"):  # a report is drawn again into folders of these names
        if (value := str(tables[name])) and (why := why_unportable(value)):
            raise LabError(Issue("damaged", str(path), f"its {name} {why}", "make it again with lnlab lock"))
    return Lock(path, tables, text)


def report_of_spec(spec: Path, profile: str | None) -> Path:
    """The folder of the committed report of a spec: below the working folder, or below one that holds the spec.

    Raises:
        ReportError: there is none.
    """
    name = Path("reports", spec.stem, *([profile] if profile else []))
    places = [Path(), *(Path(os.path.relpath(parent)) for parent in spec.resolve().parents)]
    for place in places:
        if is_report(place / name):
            return place / name
    flag = f" --profile {profile}" if profile else ""
    remedy = f"lnlab report {spec.as_posix()}{flag} first"
    others = sorted(
        {path.name for place in places for path in (place / "reports" / spec.stem).glob("*") if is_report(path)}
    )
    if others:
        remedy = f"the report of profile {others[0]} is there: lnlab lock {spec.as_posix()} --profile {others[0]}"
    raise ReportError(Issue("not-found", name.as_posix(), "there is no such report", remedy))


def specs_with_reports(folder: Path, profile: str | None) -> Iterator[Path]:
    """The specs of a folder that have a committed report of a profile."""
    for spec in sorted(folder.glob("*.yaml")):
        with suppress(ReportError):
            report_of_spec(spec, profile)
            yield spec


def folder_of(path: Path) -> Path:
    """The report of a lock, or the folder itself.

    Raises:
        LabError: the lock cannot be read.
    """
    return read_lock(path).folder if path.suffix == LOCK_SUFFIX else path


def lock_of_report(folder: Path) -> Path | None:
    """The lock of a report: beside its spec, or in a folder that holds the report or in ``specs`` there.

    A lock that cannot be read counts: what is wrong with it is told when the report is held against it.
    """
    try:
        facts = read_facts(folder, read_file(folder, EXPERIMENT_FILE))
    except ReportError:
        return None
    spec = find_spec(folder, facts)
    holding = [Path(os.path.relpath(parent)) for parent in folder.resolve().parents]
    places = [*([spec.parent] if spec else []), *(place for parent in holding for place in (parent, parent / "specs"))]
    for path in (place / f"{facts.name}{LOCK_SUFFIX}" for place in places):
        if path.is_file():
            with suppress(LabError):
                if read_lock(path).folder.resolve() != folder.resolve():
                    continue
            return path
    return None
