"""Data roots, the files below them, and downloads that are either whole and verified or absent.

The roots are, in order, the spec's folder, the folders named in ``LNLAB_DATA`` or else in ``data`` of the project file,
and the user's own data folder.
"""

import hashlib
import os
from collections.abc import Callable, Mapping
from functools import lru_cache
from http.client import HTTPException
from pathlib import Path

from platformdirs import user_data_path

from lnlab.corpora.corpus import RemoteFile
from lnlab.corpora.files.http import open_url
from lnlab.errors import CorpusError
from lnlab.files import replacing
from lnlab.issues import Issue
from lnlab.project import read_project
from lnlab.registry import Roots

Progress = Callable[[str, int, int], None]
"""Called with a file's name, the bytes received, and the bytes in all."""

_BLOCK = 1 << 16


def data_roots(spec_folder: Path) -> Roots:
    """Absolute paths of the folders that are searched for data, in order. They need not exist.

    Raises:
        LabError: the project file is wrong.
    """
    named = [Path(name).expanduser() for name in os.environ.get("LNLAB_DATA", "").split(os.pathsep) if name]
    folders = [spec_folder, *(named or read_project(spec_folder).data), user_folder()]
    return tuple(dict.fromkeys(folder.absolute() for folder in folders))


def user_folder() -> Path:
    """The user's own data folder, where downloads go."""
    return user_data_path("lnlab")


def file_below(roots: Roots, name: str) -> Path | None:
    """The file at the path ``name`` below the first root that has it, with links resolved, or None.

    Raises:
        CorpusError: the path leads outside every root, or is no path at all.
    """
    try:
        real = [root.resolve() for root in roots]
        # Not Path.resolve, which refuses a loop of links or leaves it as it is, by the version of Python.
        resolved = [Path(os.path.realpath(root / name)) for root in real]
        within = [path for path in resolved if any(path != root and path.is_relative_to(root) for root in real)]
        outside = [path for path in resolved if path not in within and path.exists()]
        if not outside and (within or not roots):
            return next((path for path in within if path.is_file()), None)
    except (OSError, ValueError) as error:
        raise CorpusError(Issue("not-found", repr(name), "is not a path of a file", str(error))) from error
    remedy = f"put the file into one of {format_roots(roots)}, or name its folder in LNLAB_DATA"
    raise CorpusError(Issue("not-found", repr(name), "leads out of the spec's folder and the data folders", remedy))


def named_file(roots: Roots, name: str) -> Path:
    """The file at a path that a spec names.

    Raises:
        CorpusError: no root has it, or its path leads outside every root.
    """
    path = file_below(roots, name)
    if path is None:
        what = f"there is no such file in any of {format_roots(roots)}"
        raise CorpusError(
            Issue("not-found", repr(name), what, "paths are relative to the spec's folder or to LNLAB_DATA")
        )
    return path


def format_roots(roots: Roots) -> str:
    """The roots for a message."""
    return ", ".join(map(str, roots))


def verified_file(roots: Roots, corpus: str, name: str, sha256: str, source: str | None = None) -> Path:
    """Return the path of a published file of a corpus, if its SHA-256 is the published one.

    Args:
        roots: the folders that are searched.
        corpus: name of the corpus, for messages.
        name: path of the file below a root.
        sha256: the published SHA-256.
        source: where to get it by hand. None means that ``lnlab data fetch`` gets it.

    Raises:
        CorpusError: it is in no root, or its content is not what it should be.
    """
    get = f"get it from {source}" if source else f"run `lnlab data fetch {corpus}`"
    path = file_below(roots, name)
    if path is None:
        what = f"'{name}' is in none of {format_roots(roots)}"
        raise CorpusError(Issue("not-found", corpus, what, f"{get}, or {_or_name(name)} in LNLAB_DATA"))
    if (actual := file_digest(path)) != sha256:
        what = f"the SHA-256 of this file should be {sha256} and is {actual}"
        raise CorpusError(Issue("no-effect", str(path), what, f"remove it and {get}"))
    return path


def _or_name(name: str) -> str:
    return f"name the folder that holds '{Path(name).parent}'"


def file_digest(path: Path) -> str:
    """The SHA-256 of a file, cached until its size or time of change differs."""
    status = path.stat()
    return _file_digest(path, status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=1024)
def _file_digest(path: Path, _size: int, _changed: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fetch(corpus: str, files: Mapping[str, RemoteFile], into: Path, progress: Progress) -> list[Path]:
    """Download the files that are absent or have different content, and return the paths of all.

    A download appears whole and verified, or not at all. A file of different content is replaced.

    Args:
        corpus: name of the corpus, for messages.
        files: maps the path below ``into`` to the published file.
        into: a folder, created if it is absent.
        progress: called during each download, and at the end of every file, downloaded or not.

    Raises:
        CorpusError: a download fails, or is not what it should be.
    """
    paths = []
    for name, remote in files.items():
        path = into / name
        if not (path.is_file() and file_digest(path) == remote.sha256):
            _download(corpus, path, remote, progress)
        progress(path.name, remote.size, remote.size)
        paths.append(path)
    return paths


def _download(corpus: str, path: Path, remote: RemoteFile, progress: Progress) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as file, open_url(remote.url) as response:
            state, received = hashlib.sha256(), 0
            # One byte more than expected at most, against answers without an end.
            while received <= remote.size and (block := response.read(min(_BLOCK, remote.size + 1 - received))):
                file.write(block)
                state.update(block)
                received += len(block)
                progress(path.name, received, remote.size)
            sha256 = state.hexdigest()
            if received < remote.size:
                raise HTTPException(f"the connection ended after {received} of {remote.size} bytes")
            if sha256 != remote.sha256:
                what = f"the SHA-256 of this download should be {remote.sha256} and is {sha256}, so it was not kept"
                raise CorpusError(Issue("not-found", remote.url, what, f"try again, or get {corpus} from elsewhere"))
    except (OSError, HTTPException) as error:
        what = f"cannot be downloaded: {error or type(error).__name__}"
        raise CorpusError(
            Issue("not-found", remote.url, what, f"try again, or {_or_name(path.name)} in LNLAB_DATA")
        ) from error
