"""Files of a folder, of a gzipped tar archive or of a zip, read into memory and never unpacked to disk.

An archive is checked before it is used. Absolute paths, paths that lead upwards, links under a selected name, names
that occur twice, and more than ``_LARGEST`` bytes are refused.
"""

import gzip
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from io import BufferedIOBase, RawIOBase
from pathlib import Path, PurePosixPath

from lnlab.errors import CorpusError
from lnlab.issues import Issue

_LARGEST = 1 << 29
"""Bytes that a file, or all that an archive unfolds to, may have."""
_BLOCK = 1 << 16
DAMAGES = (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile, ValueError, OverflowError)
ZIP_DAMAGES = (zipfile.BadZipFile, EOFError, zlib.error, ValueError, OverflowError, NotImplementedError, RuntimeError)
"""What the standard library raises at archives that are cut off or changed."""


@dataclass(frozen=True)
class Content:
    """The bytes of a file, and its name in messages."""

    where: str
    raw: bytes


class _Bounded(RawIOBase):
    """A stream that refuses to be read beyond a limit."""

    def __init__(self, file: BufferedIOBase, where: str) -> None:
        self._file = file
        self._where = where
        self._left = _LARGEST

    def read(self, size: int = _BLOCK) -> bytes:
        """Read at most ``size`` bytes. Returns ``b''`` at the end."""
        block = self._file.read(min(size, self._left + 1))  # one byte beyond the limit shows that there is more
        self._left -= len(block)
        if self._left < 0:
            raise CorpusError(_too_large(self._where))
        return block


def _too_large(where: str) -> Issue:
    return Issue("too-large", where, f"holds more than {_LARGEST} bytes", "this is not the corpus: get it again")


def read_content(path: Path) -> Content:
    """Read a file of a folder.

    Raises:
        CorpusError: it cannot be read, or is too large.
    """
    try:
        if path.stat().st_size > _LARGEST:
            raise CorpusError(_too_large(str(path)))
        return Content(str(path), path.read_bytes())
    except OSError as error:
        raise CorpusError(Issue("unreadable", str(path), "cannot be read", str(error))) from error


def read_archive(path: Path, select: Callable[[str], str | None]) -> dict[str, Content]:
    """The selected members of a ``.tgz``, in one pass.

    Args:
        path: the archive.
        select: maps the name of a file, without folders, to its key in the result, or to None for a file that is not
            read.

    Raises:
        CorpusError: it cannot be read, is damaged or too large, or has members that no archive should have.
    """
    members: dict[str, Content] = {}
    try:
        with gzip.open(path) as file:
            stream = _Bounded(file, str(path))
            # `|` is for a stream without seeking, so that the limit holds for all that is unfolded.
            with tarfile.open(fileobj=stream, mode="r|") as tar:
                for member in tar:
                    name = select(_inside(member.name, path).name)
                    if name is not None and not member.isdir():
                        if name in members:
                            raise _bad_member(path, member.name, "stands there twice")
                        content = tar.extractfile(member) if member.isreg() and not member.issparse() else None
                        if content is None:
                            fault = "is a link, a device or a file with holes, and no plain file"
                            raise _bad_member(path, member.name, fault)
                        members[name] = Content(f"{path}: {name}", content.read())
            while stream.read(_BLOCK):  # to the checksum at the end of the file
                pass
    except DAMAGES as error:
        what = f"is not a whole .tgz archive ({error or type(error).__name__})"
        raise CorpusError(Issue("damaged", str(path), what, "get it again")) from error
    except OSError as error:
        raise CorpusError(Issue("unreadable", str(path), "cannot be read", str(error))) from error
    return members


def read_zip(path: Path, select: Callable[[str], str | None]) -> dict[str, Content]:
    """The selected members of a ``.zip``, with the arguments and errors of ``read_archive``."""
    members: dict[str, Content] = {}
    try:
        with zipfile.ZipFile(path) as archive:
            left = _LARGEST
            for member in archive.infolist():
                name = select(_inside(member.filename, path).name)
                if name is not None and not member.is_dir():
                    if name in members:
                        raise _bad_member(path, member.filename, "stands there twice")
                    with archive.open(member) as file:
                        raw = file.read(left + 1)
                    left -= len(raw)
                    if left < 0:
                        raise CorpusError(_too_large(str(path)))
                    members[name] = Content(f"{path}: {name}", raw)
    except ZIP_DAMAGES as error:
        what = f"is not a whole .zip archive ({error or type(error).__name__})"
        raise CorpusError(Issue("damaged", str(path), what, "get it again")) from error
    except OSError as error:
        raise CorpusError(Issue("unreadable", str(path), "cannot be read", str(error))) from error
    return members


def _inside(name: str, path: Path) -> PurePosixPath:
    """Return the path of a member.

    Raises:
        CorpusError: unpacked, it would lie outside the folder.
    """
    inner = PurePosixPath(name.replace("\\", "/"))
    if inner.is_absolute() or ".." in inner.parts:
        raise _bad_member(path, name, "leads out of the archive")
    return inner


def _bad_member(path: Path, member: str, fault: str) -> CorpusError:
    return CorpusError(
        Issue("damaged", str(path), f"the member {member!r} {fault}", "do not use this archive: get it again")
    )
