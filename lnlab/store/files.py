"""Every change that the store makes to the file system, and nothing else: one door, so that tests can close it.

A file becomes visible under its final name only when it is whole and on the disk, see ``lnlab.files``.
"""

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, SoftFileLock, Timeout

from lnlab import files
from lnlab.errors import StoreError
from lnlab.issues import Issue

_RERUN = "run again afterwards: what is finished is kept"
_REMEDIES = {
    errno.ENOSPC: f"free some space or give another folder with --store; {_RERUN}",
    errno.EDQUOT: f"free some of your quota or give another folder with --store; {_RERUN}",
    errno.EIO: f"check the disk or give another folder with --store; {_RERUN}",
    errno.EROFS: "give a folder that can be written with --store",
    errno.EACCES: "make it writable, or give another folder with --store",
    errno.EPERM: "make it writable, or give another folder with --store",
    errno.ENOTDIR: "a file stands where the store needs a folder: move it, or give another folder with --store",
    errno.EEXIST: "a file stands where the store needs a folder: move it, or give another folder with --store",
    errno.EISDIR: "a folder stands where the store needs a file: move it, or give another folder with --store",
    errno.EFBIG: f"allow larger files (ulimit -f); {_RERUN}",
}


_BINARY: int = getattr(os, "O_BINARY", 0)
"""On Windows: what is written is written as it is."""
_LOOK = 0.005
"""Seconds between two tries to have a lock that another process has."""


def nothing(operation: str, path: Path) -> None:
    """What happens before each operation: nothing."""


before: Callable[[str, Path], None] = nothing
"""Called with each operation and its path just before it is done. Tests put a failure here."""


def as_store_error(action: str, path: Path, error: OSError) -> StoreError:
    """The error of the operating system as one that names path, cause and remedy."""
    cause = (error.strerror or str(error)).lower()
    remedy = files.remedy_of_name(error) or _REMEDIES.get(error.errno or 0, "give another folder with --store")
    if files.is_held(error):
        remedy = f"close the program that has it open, or exclude the store from its virus scanner; {_RERUN}"
    kind = Vanished if isinstance(error, FileNotFoundError) else StoreError
    return kind(Issue("unwritable", str(path), f"cannot {action}: {cause}", remedy))


class Vanished(StoreError):
    """A folder that was there a moment ago is gone."""


@contextmanager
def _operation(operation: str, path: Path) -> Iterator[None]:
    try:
        before(operation, path)
        yield
    except OSError as error:
        raise as_store_error(operation, path, error) from error


def make_folder(path: Path) -> None:
    """Make a folder and its parents. Each new one is synced into the folder that holds it.

    Raises:
        StoreError: it cannot be made.
    """
    if path.is_dir():
        return
    if path.parent != path:
        make_folder(path.parent)
    with _operation("make a folder", path):
        path.mkdir(exist_ok=True)  # another process may make it meanwhile
    sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """Wait until the names in a folder are on the disk.

    Raises:
        StoreError: the disk says no.
    """
    with _operation("sync", path):
        files.sync(path)


def write(path: Path, content: bytes) -> None:
    """Write a new file that no record names yet, and sync it. A failed write leaves no file.

    Raises:
        StoreError: it cannot be written.
    """
    try:
        with _operation("write", path):
            path.write_bytes(content)
        with _operation("sync", path):
            files.sync(path, os.O_RDWR)
    except BaseException:
        with suppress(OSError):
            path.unlink(missing_ok=True)
        raise


def append(path: Path, content: bytes) -> None:
    """Add to the end of a file, or make it. Readers must skip a line that was cut off.

    Raises:
        StoreError: it cannot be written.
    """
    with _operation("write", path), path.open("ab") as file:
        file.write(content)


def replace(path: Path, content: bytes) -> None:
    """Put ``content`` under ``path`` at once: readers see the old file or the new one, whole and synced.

    Raises:
        StoreError: it cannot be written. The old file is untouched.
    """
    with files.replacing(path, _operation) as file:
        file.write(content)


def rename(path: Path, target: Path) -> None:
    """Give a folder that no record names yet another name beside it.

    Raises:
        StoreError: it cannot be renamed.
    """
    with _operation("rename", path):
        files.persistently(lambda: path.rename(target))
    sync_folder(target.parent)


def create(path: Path, content: bytes) -> bool:
    """Make a file that must not exist yet. Return whether this process made it.

    Raises:
        StoreError: it cannot be made, for another reason than that it exists. No part of it is left.
    """
    with _operation("create", path):
        try:
            # Exclusive: of several processes one makes it, and the others are told.
            handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | _BINARY, 0o644)
        except FileExistsError:
            return False
    try:
        with _operation("write", path):
            os.write(handle, content)
    except BaseException:
        with suppress(OSError):
            path.unlink()
        raise
    finally:
        os.close(handle)
    return True


def touch(path: Path) -> None:
    """Set the modification time of a file to now, by the clock of its file system.

    Raises:
        StoreError: it cannot be touched.
    """
    with _operation("touch", path):
        os.utime(path)


def read_end(path: Path, most: int) -> bytes:
    """The last bytes of a file, ``most`` of them at most.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - most))
        return file.read()


def remove(path: Path) -> None:
    """Remove a file or a whole folder, if it exists.

    Raises:
        StoreError: it cannot be removed.
    """
    with _operation("remove", path), suppress(FileNotFoundError):
        # Of a link the link goes, and not what it leads to.
        if path.is_dir() and not path.is_symlink():
            files.persistently(lambda: shutil.rmtree(path))
        else:
            files.persistently(path.unlink)


def remove_empty(path: Path) -> None:
    """Remove a folder if it is empty."""
    with suppress(OSError):
        path.rmdir()


@contextmanager
def locked(path: Path, *, wait: bool = True) -> Iterator[bool]:
    """Hold an exclusive lock while the context is open. The kernel frees it when its process dies.

    Yields whether this process has the lock, which another may have if ``wait`` is False. The file stays, as processes
    that wait for a file that was removed would not exclude those that come later.

    Raises:
        StoreError: it cannot be locked.
    """
    native = not issubclass(FileLock, SoftFileLock)  # elsewhere than on Unix and Windows the file itself is the lock
    lock = FileLock(path, thread_local=False, poll_interval=_LOOK, fallback_to_soft=False, preserve_lock_file=native)
    with _operation("lock", path):
        if native and not path.exists():  # where it cannot be made, filelock tries again and again
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o666))
        with suppress(Timeout):
            lock.acquire(blocking=wait)
    try:
        yield lock.is_locked
    finally:
        with suppress(OSError):  # a disk that fails even here: filelock tries again once it forgets the lock
            lock.release()
