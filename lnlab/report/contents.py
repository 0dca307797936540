"""Read the files of a report: only regular files of bounded size below its folder, reached over no link.

A folder may come from anybody. A pipe in it does not block, links are not followed, sparse files that are too large are
not read, and no name is a pattern.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from lnlab.errors import ReportError
from lnlab.issues import Issue

LARGEST_REPORT_FILE = 512 * 1024 * 1024
"""The most bytes of a file of a report."""
LARGEST_FACTS = 64 * 1024 * 1024
"""The most bytes of ``experiment.json``."""
MOST_FILES = 100_000
"""The most files of a report."""
EXPERIMENT_FILE = "data/experiment.json"
# 0 where a system has none of these: there each step is looked at by its path (_open_by_path)
_DIRECTORY, _NO_FOLLOW, _NO_WAIT, _BINARY = (
    getattr(os, name, 0) for name in ("O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK", "O_BINARY")
)
_FOLDER = os.O_RDONLY | _DIRECTORY | _NO_FOLLOW
_FILE = os.O_RDONLY | _NO_FOLLOW | _NO_WAIT | _BINARY
_REMEDY = "remove it, or draw the report again"


@dataclass(frozen=True)
class ForeignEntry:
    """Something below the folder of a report that cannot be a file of it, with its path and its kind."""

    name: str
    what: str


def is_report(folder: Path) -> bool:
    """Whether a folder holds the tables of a report, as far as names say."""
    with suppress(OSError):
        return stat.S_ISREG((folder / EXPERIMENT_FILE).lstat().st_mode)
    return False


def read_file(folder: Path, name: str, largest: int = LARGEST_REPORT_FILE) -> bytes | None:
    """Return the content of a file of a report, or None if there is no such file.

    Args:
        folder: of the report. The path to it may lead over links.
        name: below the folder, with forward slashes.
        largest: bytes.

    Raises:
        ReportError: it is no regular file, too large, reached over a link, or cannot be read.
    """
    where = str(folder / name)
    *parents, last = name.split("/")
    try:
        open_file = _open_below if os.open in os.supports_dir_fd else _open_by_path
        file = open_file(folder, parents, last, where)
        with open(file, "rb") as opened:  # noqa: PTH123 - by its descriptor
            status = os.fstat(file)
            _require_regular(status.st_mode, where)  # it may have been exchanged since
            if status.st_size > largest:
                what = f"has {status.st_size:,} bytes; a file of a report has at most {largest:,}"
                raise ReportError(Issue("too-large", where, what, _REMEDY))
            # it may grow while it is read
            return opened.read(largest)
    except FileNotFoundError:
        return None
    except OSError as error:
        what = f"cannot be read: {(error.strerror or str(error)).lower()}"
        path = folder
        for parent in parents:  # the system does not say which folder on the way is a link
            path = path / parent
            with suppress(OSError):
                if path.is_symlink():
                    what = f"is reached over a link, {path.name}, and a report has none"
                    break
                if not path.is_dir():
                    what = f"cannot be read: {path.name} is no folder"
                    break
        raise ReportError(Issue("damaged", where, what, _REMEDY)) from error


def _open_below(folder: Path, parents: list[str], last: str, where: str) -> int:
    """A descriptor of a regular file, each step taken from the folder that was opened before it."""
    handle = os.open(folder, os.O_RDONLY | _DIRECTORY)
    try:
        for parent in parents:
            inner = os.open(parent, _FOLDER, dir_fd=handle)
            os.close(handle)
            handle = inner
        _require_regular(os.stat(last, dir_fd=handle, follow_symlinks=False).st_mode, where)
        return os.open(last, _FILE, dir_fd=handle)
    finally:
        os.close(handle)


def _open_by_path(folder: Path, parents: list[str], last: str, where: str) -> int:
    """The same where folders cannot be opened: each step is looked at, and what changes meanwhile is not noticed."""
    path = folder
    for parent in parents:
        path = path / parent
        if not stat.S_ISDIR(path.lstat().st_mode):
            raise OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))
    _require_regular((path / last).lstat().st_mode, where)
    return os.open(path / last, _FILE)


def _require_regular(mode: int, where: str) -> None:
    if not stat.S_ISREG(mode):
        raise ReportError(Issue("damaged", where, f"is {_kind(mode)} and no file of a report", _REMEDY))


def list_files(folder: Path) -> tuple[list[str], list[ForeignEntry]]:
    """The regular files below the folder of a report by name, hidden ones included, and whatever else lies there.

    The folders of other reports below it are not part of it, and no link is followed.

    Raises:
        ReportError: a folder cannot be read, or there are too many files.
    """
    names: list[str] = []
    foreign: list[ForeignEntry] = []
    try:
        for name, mode in _entries(folder, ""):
            if stat.S_ISREG(mode):
                names.append(name)
            else:
                foreign.append(ForeignEntry(name, _kind(mode)))
            if len(names) + len(foreign) > MOST_FILES:
                raise ReportError(
                    Issue("too-large", str(folder), f"holds more than {MOST_FILES:,} files", "name a report")
                )
    except OSError as error:
        where = str(error.filename or folder)
        raise ReportError(
            Issue("unreadable", where, f"cannot be read: {(error.strerror or str(error)).lower()}")
        ) from error
    return sorted(names), sorted(foreign, key=lambda entry: entry.name)


def _entries(folder: Path, below: str) -> Iterator[tuple[str, int]]:
    for entry in os.scandir(folder / below):
        name = f"{below}/{entry.name}" if below else entry.name
        mode = entry.stat(follow_symlinks=False).st_mode
        if not stat.S_ISDIR(mode):
            yield name, mode
        elif not is_report(folder / name):
            yield from _entries(folder, name)


def reports_below(root: Path) -> Iterator[Path]:
    """Yield the folders of reports below a folder, sorted by name. Hidden folders and links are skipped."""
    try:
        folders = sorted(
            entry.name for entry in os.scandir(root) if entry.is_dir(follow_symlinks=False) and entry.name[0] != "."
        )
    except OSError:
        return
    for name in folders:
        if is_report(root / name):
            yield root / name
        yield from reports_below(root / name)


def _kind(mode: int) -> str:
    names = {
        stat.S_IFLNK: "a link",
        stat.S_IFDIR: "a folder",
        stat.S_IFIFO: "a pipe",
        stat.S_IFSOCK: "a socket",
        stat.S_IFCHR: "a device",
        stat.S_IFBLK: "a device",
    }
    return names.get(stat.S_IFMT(mode), "no regular file")
