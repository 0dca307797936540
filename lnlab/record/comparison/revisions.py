"""Files of a commit: ``REV:path`` taken out of git into a folder that is removed afterwards."""

import os
import subprocess
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.record.locks.lock_report import LOCK_SUFFIX, read_lock
from lnlab.record.locks.lock_text import LOCK_HEAD


@dataclass(frozen=True)
class Commit:
    """A commit: its digest, and the first line of its message."""

    digest: str
    subject: str

    @property
    def label(self) -> str:
        """``commit 1f0c2a9e: a figure``."""
        return f"commit {self.digest[:8]}: {self.subject}"


_KINDS = "a spec, a lock, the folder of a report, or REV:path of a commit"


@contextmanager
def checked_out(name: str) -> Iterator[Path]:
    """The path that ``name`` means: a file or folder, or ``REV:path`` as it is in a commit, until the block ends.

    A lock comes with its spec and its report, as far as the commit has them.

    Raises:
        LabError: there is no such file, commit or path.
    """
    if Path(name).exists():
        yield Path(name)
        return
    revision, separator, path = name.partition(":")
    if not separator or not path or revision.startswith("-"):
        raise LabError(Issue("not-found", name, "there is no such file or folder", f"name {_KINDS}"))
    root, inside = _repository_path(name, path)
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


def _repository_path(name: str, path: str) -> tuple[Path, PurePosixPath]:
    """The root of the repository around the working folder, and a path below it; ``./x`` and ``x`` are the same."""
    root = Path(_git(name, Path(), "rev-parse", "--show-toplevel").decode().strip())
    for place in (Path(path), root / path):
        inside = os.path.relpath(place.absolute(), root)
        if not inside.startswith(".."):
            candidate = PurePosixPath(Path(inside).as_posix())
            if _is_in(root, name.partition(":")[0], candidate):
                return root, candidate
    what = f"the commit {name.partition(':')[0]} has no {path}"
    raise LabError(Issue("not-found", name, what, "git ls-tree -r --name-only REV lists what it has"))


def commit_of(name: str) -> str | None:
    """The commit that a name means in the repository around the working folder; None where it means none."""
    if not name or name.startswith("-"):
        return None
    command = ["git", "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}"]
    try:
        done = subprocess.run(command, capture_output=True, check=False)  # noqa: S603 - git of the user
    except FileNotFoundError:
        return None
    return done.stdout.decode().strip() or None


def commits_between(good: str, bad: str, folder: str) -> list[Commit]:
    """The commits that changed a folder at the root of the repository, after one side and up to another, oldest first.

    Args:
        good: ``REV:path``, or a path whose last commit is meant.
        bad: the same.
        folder: below the root of the repository around the working folder.

    Raises:
        LabError: there is no such repository or folder, a side is not in it, or the second is not after the first.
    """
    first, last = (_commit_of_side(name) for name in (good, bad))
    root = Path(_git(bad, Path(), "rev-parse", "--show-toplevel").decode().strip())
    if not _is_in(root, last, PurePosixPath(folder)):
        raise LabError(Issue("not-found", bad, f"the repository {root} has no folder {folder}"))
    try:
        _git(bad, root, "merge-base", "--is-ancestor", first, last)
    except LabError as error:
        raise LabError(Issue("not-found", bad, f"is not in a commit after that of {good}")) from error
    listed = _git(bad, root, "log", "--reverse", "--topo-order", "--format=%H %s", f"{first}..{last}", "--", folder)
    parts = (line.partition(" ") for line in listed.decode(errors="replace").splitlines())
    return [Commit(digest, subject) for digest, _, subject in parts]


def _commit_of_side(name: str) -> str:
    if not Path(name).exists():
        commit = commit_of(name.partition(":")[0])
    else:
        place = Path(name).resolve()
        commit = _git(name, place.parent, "log", "-1", "--format=%H", "--", place.name).decode().strip()
    if not commit:
        raise LabError(Issue("not-found", name, f"{name} is in no commit"))
    return commit


@contextmanager
def extracted(commit: str, names: Sequence[str]) -> Iterator[Path]:
    """A folder with what a commit has of these names at its root, until the block ends.

    Raises:
        LabError: git cannot read the commit.
    """
    root = Path(_git(commit, Path(), "rev-parse", "--show-toplevel").decode().strip())
    with TemporaryDirectory(prefix="lnlab-revision-") as scratch:
        present = [path for path in map(PurePosixPath, names) if _is_in(root, commit, path)]
        _extract(commit, root, commit, present, Path(scratch))
        yield Path(scratch)


def locks_of_commit(commit: str) -> dict[str, str]:
    """The locks of a commit, by their paths below the root of the repository: the object that git has of each."""
    root = Path(_git(commit, Path(), "rev-parse", "--show-toplevel").decode().strip())
    entries = _git(commit, root, "ls-tree", "-r", "-z", "--full-tree", commit).decode(errors="replace").split("\0")
    objects = {path: facts.split()[2] for facts, _, path in (entry.partition("\t") for entry in entries if entry)}
    blobs = {path: blob for path, blob in objects.items() if path.endswith(LOCK_SUFFIX)}
    return {
        path: blob
        for path, blob in blobs.items()
        if _git(commit, root, "cat-file", "blob", blob).startswith(LOCK_HEAD.encode())
    }


def _is_in(root: Path, revision: str, path: PurePosixPath) -> bool:
    """Whether a commit has a path; an unknown commit has none."""
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
