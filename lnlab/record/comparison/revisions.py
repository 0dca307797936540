"""Files of a commit: ``REV:path`` taken out of git into a folder that is removed afterwards."""

import os
import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.record.locks.lock_report import LOCK_SUFFIX, read_lock

_KINDS = "a spec, a lock, the folder of a report, or REV:path of a commit"


@contextmanager
def checked_out(name: str) -> Iterator[Path]:
    """Yield the path of a file or folder, or of ``REV:path`` taken out of a commit until the block ends.

    A lock comes with its spec and its report, as far as the commit has them.

    Raises:
        LabError: there is no such file, commit or path.
    """
    if Path(name).exists():
        yield Path(name)
        return
    revision, separator, path = name.partition(":")
    # Git would take a minus for an option.
    if not separator or not path or revision.startswith("-"):
        raise LabError(Issue("not-found", name, "there is no such file or folder", f"name {_KINDS}"))
    root = Path(_git(name, Path(), "rev-parse", "--show-toplevel").decode().strip())
    for place in (Path(path), root / path):  # a path from here, or one from the root of the repository
        inside = PurePosixPath(Path(os.path.relpath(place.absolute(), root)).as_posix())
        if not str(inside).startswith("..") and _is_in(root, revision, inside):
            break
    else:
        what = f"the commit {revision} has no {path}"
        raise LabError(Issue("not-found", name, what, "git ls-tree -r --name-only REV lists what it has"))
    with TemporaryDirectory(prefix="lnlab-revision-") as scratch:
        folder = Path(scratch)
        _extract(name, root, revision, [inside], folder)
        if inside.suffix == LOCK_SUFFIX:
            lock = read_lock(folder / inside)
            report = PurePosixPath(os.path.normpath(inside.parent / str(lock.tables["report"])))
            present = [p for p in (inside.with_suffix(".yaml"), report) if _is_in(root, revision, p)]
            if present:
                _extract(name, root, revision, present, folder)
        yield folder / inside


def _is_in(root: Path, revision: str, path: PurePosixPath) -> bool:
    """Whether a commit has a path. An unknown commit has none."""
    command = ["git", "-C", str(root), "cat-file", "-e", f"{revision}:{path}"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0  # noqa: S603 - git of the user


def _extract(name: str, root: Path, revision: str, paths: list[PurePosixPath], folder: Path) -> None:
    archive = _git(name, root, "archive", "--format=tar", revision, "--", *map(str, paths))
    with tarfile.open(fileobj=BytesIO(archive)) as tar:
        for member in filter(tarfile.TarInfo.isfile, tar):  # a link of the commit is no part of it
            path = folder / member.name
            content = tar.extractfile(member)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.read() if content else b"")


def _git(name: str, root: Path, *arguments: str) -> bytes:
    try:
        done = subprocess.run(  # noqa: S603 - git of the user, whose arguments cannot be options
            ["git", "-C", str(root), *arguments],  # noqa: S607
            capture_output=True,
            check=False,
        )
    except FileNotFoundError as error:
        raise LabError(
            Issue("not-installed", name, "needs git, which is not installed", "install git, or name files")
        ) from error
    if done.returncode:
        cause = done.stderr.decode(errors="replace").strip().splitlines()[:1]
        raise LabError(Issue("not-found", name, f"git says: {' '.join(cause)}", f"name {_KINDS}"))
    return done.stdout
