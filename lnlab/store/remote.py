"""Another place that fsspec reaches: a folder, an object store, a machine over SSH. Nothing there is believed."""

import errno
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fsspec.asyn import AsyncFileSystem
from fsspec.core import url_to_fs
from fsspec.exceptions import FSTimeoutError
from fsspec.implementations.local import LocalFileSystem
from fsspec.registry import known_implementations

from lnlab.errors import StoreError, nearest
from lnlab.files import replacing
from lnlab.issues import Issue

_PUTS_WHOLE = {"memory", "s3", "s3a", "gs", "gcs", "abfs", "az", "adl", "hf", "oci", "ocilake", "oss", "tos", "tosfs"}
"""Protocols whose files appear whole or not at all. With others a file is written beside its name and renamed."""
_INSTALL = {
    "s3": "s3fs",
    "s3a": "s3fs",
    "gs": "gcsfs",
    "gcs": "gcsfs",
    "az": "adlfs",
    "abfs": "adlfs",
    "hf": "huggingface_hub",
    "ssh": "paramiko",
    "sftp": "paramiko",
    "smb": "smbprotocol",
    "webdav": "webdav4",
    "oci": "ocifs",
    "oss": "ossfs",
}
"""What has to be installed for a protocol, where Python says only that something is."""
TRANSFERS = 8
"""Files on their way at once."""
LONGEST_LISTING = 20
"""Seconds in which an object store lists a folder; a thousand files come in one answer."""
_ONE_CONNECTION = {"sftp", "ssh", "ftp"}
"""Protocols over one connection, where an answer that two threads wait for may reach neither."""
_PASSWORD = re.compile(r"(?<=//)([^/@:]*):[^/@]*@")


class Untrusted(StoreError):
    """Something at a remote is not what its name or its index says."""


def untrusted(place: str, what: str, remedy: str = "remove it there and push it again") -> Untrusted:
    """The error that says what is wrong at a place, from which nothing is taken then."""
    return Untrusted(Issue("unreachable", place, what, f"nothing was written; {remedy}"))


def shown_url(url: str) -> str:
    """The place as messages name it: without a password."""
    return _PASSWORD.sub(r"\1:***@", url)


@dataclass(frozen=True)
class Remote:
    """A place that was opened.

    Attributes:
        url: as messages name it.
        system: of fsspec.
        root: the path in it.
        folder: the folder of this machine that it is, or None.
    """

    url: str
    system: Any
    root: str
    folder: Path | None

    @property
    def transfers_at_once(self) -> int:
        """How many files may be on the way at a time."""
        return 1 if self._speaks(_ONE_CONNECTION) else TRANSFERS

    def _speaks(self, protocols: set[str]) -> bool:
        """Whether its protocol, which fsspec has as a word or as several, is one of these."""
        own = self.system.protocol
        return not protocols.isdisjoint([own] if isinstance(own, str) else own)

    def place(self, name: str) -> str:
        """A name in it for a message."""
        return f"{self.url.rstrip('/')}/{name}"

    def sizes(self, below: str) -> dict[str, int]:
        """The files in a folder of it with their sizes. Links may lead out of this place and are left out.

        Raises:
            StoreError: it cannot be read.
        """
        with self._reaching("read", below):
            try:
                # others than object stores list in one answer
                limit = {"timeout": LONGEST_LISTING} if isinstance(self.system, AsyncFileSystem) else {}
                entries = self.system.ls(self._path(below), detail=True, **limit)
            except (FileNotFoundError, NotADirectoryError):
                return {}
            except FSTimeoutError as error:
                what = f"its list of files does not end within {LONGEST_LISTING} s"
                raise untrusted(self.place(below), what) from error
            return {
                entry["name"].rpartition("/")[2]: entry["size"]
                for entry in entries
                if entry["type"] == "file" and type(entry.get("size")) is int and not entry.get("islink")
            }

    def read(self, name: str, size: int) -> bytes:
        """The first ``size`` bytes of a file, whatever it holds beyond.

        Raises:
            Untrusted: they are fewer, or it is no plain file.
            StoreError: it cannot be read.
        """
        with self._reaching("read", name):
            try:
                if self.folder is None:
                    content = bytes(self.system.cat_file(self._path(name), start=0, end=size))
                else:
                    path = self.folder / name
                    # Of a link itself, which might lead to any file of this machine.
                    if not stat.S_ISREG(path.lstat().st_mode):
                        raise untrusted(self.place(name), "is no plain file")
                    with path.open("rb") as file:
                        content = file.read(size)
            except FileNotFoundError:
                raise untrusted(self.place(name), "is missing", "push it again") from None
        if len(content) != size:
            raise untrusted(self.place(name), f"has not the {size:,} bytes that it should")
        return content

    def write(self, name: str, content: bytes) -> None:
        """Put a file there, whole or not at all as far as the place can.

        Raises:
            StoreError: it cannot be written.
        """
        with self._reaching("write", name):
            if self.folder is not None:
                path = self.folder / name
                path.parent.mkdir(parents=True, exist_ok=True)
                with replacing(path) as file:
                    file.write(content)
                return
            path_there = self._path(name)
            if self._speaks(_PUTS_WHOLE):
                self.system.pipe_file(path_there, content)
                return
            self.system.makedirs(path_there.rpartition("/")[0], exist_ok=True)
            beside = f"{path_there}.{secrets.token_hex(8)}.part"
            self.system.pipe_file(beside, content)
            try:
                self.system.mv(beside, path_there)
            except NotImplementedError:  # a place without names that change: what is cut off there is sent again
                self.system.pipe_file(path_there, content)
                self.system.rm_file(beside)

    def _path(self, name: str) -> str:
        return f"{self.root.rstrip('/')}/{name}"

    @contextmanager
    def _reaching(self, action: str, name: str) -> Iterator[None]:
        """Turn whatever a library of a remote raises into an error that names the file."""
        try:
            yield
        except StoreError:
            raise
        except Exception as error:
            what = f"cannot be {'read' if action == 'read' else 'written'}: {_reason(error)}"
            remedy = "what has arrived is kept: the same command continues"
            if _is_refusal(error):
                remedy = f"see whether your credentials are valid and may {action} there; {remedy}"
            raise StoreError(Issue("unreachable", self.place(name), what, remedy)) from error


def open_remote(url: str) -> Remote:
    """The place that a user named: a folder, or what stands in front of ``://`` says how it is reached.

    Raises:
        StoreError: a file stands there, the protocol is unknown, or its library is not installed.
    """
    shown = shown_url(url)
    protocol = url.partition("://")[0] if "://" in url else "file"
    if protocol in ("http", "https"):
        what = "is a web server, which lists no files with their sizes"
        raise StoreError(Issue("unsupported", shown, what, "download the folder, then name it"))
    try:
        if "://" in url:
            system, root = url_to_fs(url)
        else:  # a path, whatever it holds that would mean something to fsspec
            system, root = LocalFileSystem(), str(Path(url).expanduser().absolute())
        system.invalidate_cache()  # fsspec remembers listings of before
    except ImportError as error:
        package = _INSTALL.get(protocol)
        remedy = f"pip install {package}" if package else " ".join(str(error).split())
        raise StoreError(Issue("not-installed", shown, f"needs a library for {protocol}://", remedy)) from error
    except Exception as error:
        issue = Issue("unreadable", shown, f"cannot be opened: {_reason(error)}", "look at its address")
        if protocol != "file" and protocol not in known_implementations:
            known = ["file", "s3", "gs", "az", "hf", "ssh", "sftp", "memory"]
            issue = Issue("unknown-kind", shown, f"'{protocol}' is no protocol", nearest(protocol, known))
        raise StoreError(issue) from error
    folder = Path(root).absolute() if isinstance(system, LocalFileSystem) else None
    if folder is not None and folder.exists() and not folder.is_dir():
        raise StoreError(Issue("unreachable", shown, "is a file", "name a folder"))
    return Remote(shown, system, root, folder)


def _is_refusal(error: Exception) -> bool:
    """Whether a place is there and refuses: a key that is wrong or expired, none at all, or a place to read alone."""
    read_only = isinstance(error, OSError) and error.errno == errno.EROFS
    return isinstance(error, PermissionError) or read_only or "Credential" in type(error).__name__


def _reason(error: Exception) -> str:
    """One line of what a library says."""
    said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    line = " ".join(os.fsencode(shown_url(said)).decode(errors="backslashreplace").split())[:300]
    return f"{type(error).__name__}: {line}" if line else type(error).__name__
