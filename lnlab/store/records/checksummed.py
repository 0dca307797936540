"""A JSON value with its own digest, so that a flipped bit anywhere in its file is noticed."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lnlab.errors import StoreError
from lnlab.issues import Issue
from lnlab.keys import Json, canonical, digest, digest_bytes


class CorruptFile(Exception):
    """A file is not what was committed. The message names it and says what is wrong."""


def to_checksummed_json(value: Json) -> bytes:
    """The one text of ``value`` with its digest."""
    return (canonical({"content": value, "sha256": digest(value)}) + "\n").encode()


def from_checksummed_json(content: bytes, path: Path) -> Json:
    """The value inside ``content``. ``path`` is for the message.

    Raises:
        CorruptFile: it is not, to the byte, what ``to_checksummed_json`` made.
    """
    try:
        value = json.loads(content)["content"]
        # As bytes: what is written otherwise and means the same was altered, too.
        intact = to_checksummed_json(value) == content
    except (ValueError, TypeError, KeyError, RecursionError):
        intact = False
    if not intact:
        raise CorruptFile(f"{path} is truncated or altered")
    return value


@contextmanager
def well_formed(path: Path) -> Iterator[None]:
    """Turn errors from taking an intact file's value apart into CorruptFile, as a file of another kind gives them.

    Raises:
        CorruptFile: it lacks a part, or has one of another type.
    """
    try:
        yield
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise CorruptFile(f"{path} holds what belongs elsewhere") from error


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Turn errors of the operating system into errors that name the file."""
    try:
        yield
    except PermissionError as error:
        remedy = "make it readable, or give another folder with --store"
        raise StoreError(Issue("unreadable", str(path), "cannot read: permission denied", remedy)) from error
    except FileNotFoundError as error:
        raise CorruptFile(f"{path} is missing") from error
    except OSError as error:
        raise CorruptFile(f"{path} cannot be read: {(error.strerror or str(error)).lower()}") from error


def read_bytes(path: Path) -> bytes:
    """The bytes of a committed file.

    Raises:
        CorruptFile: it is gone, or the disk cannot read it.
        StoreError: this user may not read it.
    """
    with _reading(path):
        return path.read_bytes()


def read_range(path: Path, place: tuple[int, int], sha256: str) -> bytes:
    """The bytes of a committed file from ``place[0]`` on, ``place[1]`` of them, if they are the ones committed.

    Raises:
        CorruptFile: they are not.
        StoreError: this user may not read it.
    """
    with _reading(path), path.open("rb") as file:
        file.seek(place[0])
        content = file.read(place[1])
    if digest_bytes(content) != sha256:
        raise CorruptFile(f"{path} is truncated or altered from byte {place[0]:,} on")
    return content


def read_checked(path: Path, sha256: str) -> bytes:
    """The bytes of a committed file, if they are the ones that were committed.

    Raises:
        CorruptFile: they are not.
        StoreError: this user may not read it.
    """
    content = read_bytes(path)
    if digest_bytes(content) != sha256:
        raise CorruptFile(f"{path} is truncated or altered")
    return content
