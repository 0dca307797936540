"""Files that appear whole or not at all: written under another name, synced, renamed, and their folder synced."""

import errno
import os
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import IO

_Step = Callable[[str, Path], AbstractContextManager[None]]
"""Entered around each operation on the file system, with its name (``write``, ``sync``, ``rename``) and its path."""


_HELD = (5, 32, 33)  # ERROR_ACCESS_DENIED, ERROR_SHARING_VIOLATION and ERROR_LOCK_VIOLATION, as Windows numbers them
PATIENCE = 5.0
"""Seconds in which a file that another process has open under Windows is tried again: virus scanners let go of it."""


def is_held(error: OSError) -> bool:
    """Whether Windows refused something because another process has the file open. No other system does."""
    return isinstance(error, PermissionError) and getattr(error, "winerror", None) in _HELD


def remedy_of_name(error: OSError) -> str | None:
    """What helps where a path is too long for the system. None if another thing is wrong.

    Windows says of such a path that it is not there, or not at all what is wrong (ERROR_PATH_NOT_FOUND).
    """
    named, of_windows = os.fspath(error.filename or ""), getattr(error, "winerror", None)
    if of_windows == 206 or (of_windows == 3 and len(named) >= 260):
        return f"its path has {len(named)} characters: choose a shorter one, or set LongPathsEnabled in Windows"
    return "choose a place with a shorter path" if error.errno == errno.ENAMETOOLONG else None


def persistently(change: Callable[[], object]) -> None:
    """Rename or remove something. Where Windows refuses as another process has it open, try again for a while.

    Raises:
        OSError: it cannot be changed, or is held longer than ``PATIENCE``.
    """
    until = time.monotonic() + PATIENCE
    while True:
        try:
            change()
            return
        except PermissionError as error:
            if not is_held(error) or time.monotonic() > until:
                raise
        time.sleep(0.05)


def unobserved(_operation: str, _path: Path) -> AbstractContextManager[None]:
    """A step that does nothing."""
    return nullcontext()


@contextmanager
def replacing(path: Path, step: _Step = unobserved) -> Iterator[IO[bytes]]:
    """A file that takes the name ``path`` when the block ends: readers see the old content or the new one, whole.

    If anything fails, ``path`` is as it was and no other file remains. Only the sync of the folder can fail later: then
    the new content has the name, and may lose it with the power.

    Raises:
        OSError: an operation failed. ``step`` may raise another error in its place.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.part")
    try:
        with step("write", temporary), temporary.open("xb") as file:
            yield file
        with step("sync", temporary):
            # Windows syncs only what is open for writing.
            sync(temporary, os.O_RDWR)
        with step("rename", path):
            persistently(lambda: temporary.replace(path))
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
    with step("sync", path.parent):
        sync(path.parent)


def sync(path: Path, flags: int = os.O_RDONLY) -> None:
    """Wait until a file, or the names in a folder, are on the disk.

    Raises:
        OSError: the disk refuses. Not raised where a system cannot sync folders.
    """
    if os.name == "nt" and path.is_dir():
        return  # Windows cannot open a folder; NTFS keeps a journal of names
    handle = os.open(path, flags)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
    finally:
        os.close(handle)
