"""Folders that are replaced whole: whoever looks, at any moment, finds the old one or the new one.

The new folder is written beside the old one and put in its place by one rename that exchanges both. Where that cannot
be (a mount point, the working folder, a file system without such a rename), it is written inside the old one, declared
complete by a rename, and moved into place file by file: one that was interrupted there is completed by the next call.
"""

import ctypes
import errno
import json
import os
import re
import secrets
import shutil
import stat
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from filelock import lock_descriptor

from lnlab.files import persistently, sync

_WRITTEN = re.compile(r"\.lnlab-[0-9a-f]{16}\.part")
"""The name of a folder that is being written, or of the old one that is being removed."""
_COMPLETE = re.compile(r"\.lnlab-[0-9a-f]{16}\.ready")
"""The name of a complete folder whose files are being moved into place."""
_FILE = re.compile(r"\.[^/]+\.[0-9a-f]{16}\.part")
"""The name of a single file that ``lnlab.files`` was writing."""
_NAMES = ".names.json"
_EXCHANGE, _HERE = 2, -100  # RENAME_EXCHANGE and AT_FDCWD, as Linux numbers them
_NO_EXCHANGE = (errno.ENOSYS, errno.EINVAL, errno.EXDEV, errno.EBUSY, errno.EOPNOTSUPP)


def is_leftover(name: str) -> bool:
    """Whether a file or folder of this name is what a killed process left behind."""
    return any(pattern.fullmatch(name) for pattern in (_WRITTEN, _COMPLETE, _FILE))


def leftovers_beside(folder: Path) -> list[Path]:
    """What killed processes left beside a folder."""
    with suppress(OSError):
        return sorted(path for path in folder.resolve().parent.iterdir() if _WRITTEN.fullmatch(path.name))
    return []


def replace_folder(folder: Path, files: Mapping[str, bytes], is_stale: Callable[[str], bool]) -> None:
    """Put these files into a folder, all at once. Other files there stay.

    A file that is there with the same content stays the file that it is. What an earlier process left behind goes.

    Args:
        folder: made if it is not there. The path to it may lead over links.
        files: by their path below the folder, with forward slashes.
        is_stale: whether a file that lies there, by such a path, belongs to what is replaced, and goes.

    Raises:
        OSError: the folder is as it was before.
    """
    place = Path(os.path.realpath(folder))
    place.parent.mkdir(parents=True, exist_ok=True)
    with _locked(place.parent) as alone:
        if not place.exists():
            if alone:
                _remove_leftovers(place.parent)
            with _written(place.parent, files, None) as part:
                persistently(lambda: part.rename(place))
            sync(place.parent)
            return
        with _locked(place) as alone_inside:
            complete_interrupted(place, is_stale)
            if alone and alone_inside:
                for parent in (place.parent, place):
                    _remove_leftovers(parent)
            if _is_fixed(place):
                with _written(place, files, place, carried=False) as part:
                    _move_parts(part, place, files, is_stale)
                return
            with _written(place.parent, files, place, is_stale=is_stale) as part:
                if not exchange(part, place):
                    _move_parts(part, place, _names_below(part), is_stale)
            sync(place.parent)


def complete_interrupted(folder: Path, is_stale: Callable[[str], bool]) -> None:
    """Complete a replacement that was interrupted while its files were moved into place.

    Raises:
        OSError: a file cannot be moved.
    """
    if not folder.is_dir():
        return
    for ready in [path for path in folder.iterdir() if _COMPLETE.fullmatch(path.name) and not path.is_symlink()]:
        try:
            names = json.loads((ready / _NAMES).read_bytes())
        except (OSError, ValueError):  # all is moved, and it was being removed
            shutil.rmtree(ready)
            continue
        _finish(ready, folder, names, is_stale)


@contextmanager
def _written(
    parent: Path,
    files: Mapping[str, bytes],
    old: Path | None,
    *,
    carried: bool = True,
    is_stale: Callable[[str], bool] = lambda _: False,
) -> Iterator[Path]:
    """A new folder in ``parent`` with these files and, if ``carried``, all of the old one that is not stale.

    When the block ends, what has this name then is removed: the new folder after a failure, or the old one.
    """
    part = parent / f".lnlab-{secrets.token_hex(8)}.part"
    part.mkdir()
    try:
        if old is not None:
            shutil.copymode(old, part)
        for name, content in files.items():
            path = part / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if old is not None and _has_content(old / name, content):
                with suppress(OSError):  # a file system without links: it is written like the others
                    path.hardlink_to(old / name)
                    continue
            with path.open("xb") as file:
                file.write(content)
            sync(path, os.O_RDWR)
        if old is not None and carried:
            _carry(old, part, files, is_stale)
        for folder, _, _ in os.walk(part):
            sync(Path(folder))
        yield part
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _has_content(path: Path, content: bytes) -> bool:
    with suppress(OSError):
        status = path.lstat()
        return stat.S_ISREG(status.st_mode) and status.st_size == len(content) and path.read_bytes() == content
    return False


def _carry(old: Path, part: Path, files: Mapping[str, bytes], is_stale: Callable[[str], bool], below: str = "") -> None:
    """Link what is not replaced into the new folder, or copy it where the file system has no links."""
    entries = sorted(os.scandir(old / below), key=lambda entry: entry.name)
    for entry in entries:
        name = f"{below}/{entry.name}" if below else entry.name
        if name in files or is_leftover(entry.name):
            continue
        if entry.is_dir(follow_symlinks=False):
            _carry(old, part, files, is_stale, name)
        elif not is_stale(name):
            target = part / name
            target.parent.mkdir(parents=True, exist_ok=True)
            path = Path(entry.path)
            try:
                os.link(path, target, follow_symlinks=False)
            except FileExistsError:
                raise
            except OSError:  # a file system without links
                shutil.copy2(path, target, follow_symlinks=False)
    if below and not entries:
        (part / below).mkdir(parents=True, exist_ok=True)


def exchange(one: Path, other: Path) -> bool:
    """Exchange two folders in one step. Returns whether this system and this file system can.

    Raises:
        OSError: they can, and it failed.
    """
    if os.name == "nt":
        return False
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        return False
    if rename(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in _NO_EXCHANGE:
        return False
    raise OSError(number, os.strerror(number), str(other))


def _is_fixed(place: Path) -> bool:
    """Whether a folder cannot be renamed, or holds the working folder."""
    if os.path.ismount(place) or not os.access(place.parent, os.W_OK):
        return True
    with suppress(OSError):
        return Path.cwd().is_relative_to(place)
    return False


def _move_parts(part: Path, place: Path, names: Collection[str], is_stale: Callable[[str], bool]) -> None:
    """Move a folder that is written into place file by file, so that the next call can go on after a kill."""
    (part / _NAMES).write_text(json.dumps(sorted(names)))
    sync(part / _NAMES, os.O_RDWR)
    sync(part)
    ready = place / part.with_suffix(".ready").name
    # The names are on the disk before the folder is declared complete: whoever finds it can finish.
    persistently(lambda: part.rename(ready))
    sync(place)
    _finish(ready, place, names, is_stale)


def _finish(ready: Path, place: Path, names: Collection[str], is_stale: Callable[[str], bool]) -> None:
    for name in _names_below(place):
        if is_stale(name) and name not in names:
            persistently((place / name).unlink)
    for name in names:
        if (ready / name).exists():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            persistently(partial((ready / name).replace, place / name))
    for folder in {(place / name).parent for name in names}:
        sync(folder)
    shutil.rmtree(ready)


def _names_below(folder: Path) -> list[str]:
    """The files below a folder, leftovers apart, by their path with forward slashes."""
    names = []
    for where, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not is_leftover(name)]
        names += [Path(where, name).relative_to(folder).as_posix() for name in files if not is_leftover(name)]
    return names


def _remove_leftovers(parent: Path) -> None:
    """Remove what killed processes left in a folder, while no other process writes there."""
    for path in parent.iterdir():
        if _WRITTEN.fullmatch(path.name) and path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)


@contextmanager
def _locked(folder: Path) -> Iterator[bool]:
    """Inside, no other process replaces folders here, or this folder. Yields whether the file system has locks."""
    if not hasattr(os, "O_DIRECTORY"):  # Windows, where a folder cannot be opened
        yield False
        return
    while True:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            alone = True
            try:
                lock_descriptor(handle)
            except OSError:  # a network file system: as without locks
                alone = False
            # The folder may be another one since: then the lock is that of the old one.
            if os.path.samestat(os.fstat(handle), folder.stat()):
                yield alone
                return
        finally:
            os.close(handle)
