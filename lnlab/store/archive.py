"""Finished units as one archive: an uncompressed or compressed tar (ustar) of plain files, read as if hostile.

``units.json`` comes first and says what each unit is; then ``<trajectory>/<stretch>/<file>``, unit by unit. The reader
takes no path from the archive but names that match, no link, no device, no extension header, and no more bytes than it
was allowed, however small the archive is.
"""

import gzip
import io
import re
import tarfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from lnlab.errors import Problem, StoreError
from lnlab.files import replacing
from lnlab.store.records.layout import RECORD_FILE
from lnlab.tables import WRITTEN_BY_WORKERS

MANIFEST_FILE = "units.json"
LARGEST_FILE = 256 * 1024 * 1024
"""Bytes of one file in an archive."""
_BLOCK = 512
_MEMBER = re.compile(
    rf"(?P<trajectory>[0-9a-f]{{64}})/(?P<stretch>(?:0|[1-9][0-9]{{0,11}})-[0-9a-f]{{24}})/"
    rf"(?P<file>{re.escape(RECORD_FILE)}|(?:{'|'.join(WRITTEN_BY_WORKERS)})\.parquet)"
)
_GZIP = b"\x1f\x8b"
"""How a file that gzip compressed begins."""
_READING_ERRORS = (OSError, EOFError, zlib.error, ValueError)


@dataclass(frozen=True)
class ArchivedFile:
    """A file of a stretch of work, with its bytes."""

    trajectory: str
    stretch: str
    name: str
    content: bytes


def write_archive(path: Path, manifest: bytes, files: Iterable[ArchivedFile]) -> None:
    """Write an archive, whole or not at all; compressed where its name ends in ``.gz``.

    Equal units give equal bytes.

    Raises:
        OSError: it cannot be written.
    """
    with (
        replacing(path) as file,
        _compressed(path, file) as stream,
        tarfile.open(fileobj=stream, mode="w", format=tarfile.USTAR_FORMAT) as tar,
    ):
        _add(tar, MANIFEST_FILE, manifest)
        for entry in files:
            _add(tar, f"{entry.trajectory}/{entry.stretch}/{entry.name}", entry.content)


@contextmanager
def _compressed(path: Path, file: IO[bytes]) -> Iterator[IO[bytes]]:
    if path.suffix != ".gz":
        yield file
        return
    with gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0) as stream:
        yield cast("IO[bytes]", stream)


def _add(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(content)
    tar.addfile(member, io.BytesIO(content))


@dataclass
class _BoundedReader:
    """Reads exactly as many bytes as are asked for, and no more in all than allowed."""

    where: str
    stream: IO[bytes]
    left: int

    def read(self, size: int) -> bytes:
        if size > self.left:
            what = "holds more than it may; nothing was imported"
            raise StoreError(Problem(self.where, what, "allow more with --limit if you trust where it comes from"))
        self.left -= size
        try:
            content = self.stream.read(size)
        except _READING_ERRORS as error:
            raise StoreError(Problem(self.where, f"cannot be read: {error}", "fetch it again")) from error
        if len(content) < size:
            raise StoreError(Problem(self.where, "is cut off", "fetch it again"))
        return content


@contextmanager
def open_archive(path: Path, limit: int) -> Iterator[tuple[bytes, Iterator[ArchivedFile]]]:
    """The manifest of an archive, and its files one after the other.

    Args:
        path: of the archive, which gzip may have compressed, whatever its name.
        limit: bytes that it may unfold to.

    Raises:
        StoreError: it cannot be read, unfolds to more, or holds anything but files with names that match; also while
            the files are read.
    """
    where = str(path)
    try:
        if not path.is_file():
            raise StoreError(Problem(where, "there is no such file", "name an archive that lnlab export wrote"))
        with path.open("rb") as file:
            stream = gzip.GzipFile(fileobj=file) if file.peek(len(_GZIP)).startswith(_GZIP) else file
            reader = _BoundedReader(where, cast("IO[bytes]", stream), limit)
            first = _next_member(reader)
            if first is None or first[0] != MANIFEST_FILE:
                what = f"does not begin with {MANIFEST_FILE}"
                raise StoreError(
                    Problem(where, what, "name an archive that lnlab export wrote (.tar, .tar.gz, .tar.xz)")
                )
            yield first[1], _files(reader)
    except OSError as error:
        raise StoreError(Problem(where, f"cannot be read: {(error.strerror or str(error)).lower()}")) from error


def _files(reader: _BoundedReader) -> Iterator[ArchivedFile]:
    seen: set[str] = set()
    while (member := _next_member(reader)) is not None:
        name, content = member
        match = _MEMBER.fullmatch(name)
        if match is None:
            raise StoreError(_refused(reader, name, "is no name of a file of a unit"))
        if name in seen:
            raise StoreError(_refused(reader, name, "is there twice"))
        seen.add(name)
        yield ArchivedFile(match["trajectory"], match["stretch"], match["file"], content)


def _next_member(reader: _BoundedReader) -> tuple[str, bytes] | None:
    """Name and bytes of the next file, or None at the end."""
    header = reader.read(_BLOCK)
    if header == bytes(_BLOCK):
        return None
    try:
        member = tarfile.TarInfo.frombuf(header, "utf-8", "strict")
    except (tarfile.HeaderError, UnicodeDecodeError, ValueError) as error:
        what = f"is no tar archive of plain files: {error}"
        raise StoreError(Problem(reader.where, what, "name an archive that lnlab export wrote")) from error
    if member.type != tarfile.REGTYPE:
        raise StoreError(_refused(reader, member.name, "is no plain file (a link, a folder, or an extension)"))
    if not 0 <= member.size <= LARGEST_FILE:
        raise StoreError(_refused(reader, member.name, f"has {member.size:,} bytes, and may have {LARGEST_FILE:,}"))
    content = reader.read(member.size)
    reader.read(-member.size % _BLOCK)
    return member.name, content


def _refused(reader: _BoundedReader, name: str, what: str) -> Problem:
    return Problem(f"{reader.where}: {name[:160]}", what, "nothing was imported; do not trust this archive")
