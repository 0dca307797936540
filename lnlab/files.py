"""Files that appear whole or not at all: written under another name, synced, renamed, and their folder synced."""

import errno
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import IO

_Step = Callable[[str, Path], AbstractContextManager[None]]
"""Entered around each operation on the file system, with its name (``write``, ``sync``, ``rename``) and its path."""


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
            temporary.replace(path)
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
