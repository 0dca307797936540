"""What a plan is a function of, as digests that cost milliseconds: a remembered plan is found without compiling.

``quick_digest`` covers the bytes of the spec, profile and overrides, lnlab's own source, plugins, what third parties
register, and the data roots. It does not read corpora: the files whose content joins a plan's keys are listed in
``Plan.inputs``, and ``unchanged`` says whether they still are what they were. Both together decide whether a remembered
plan still holds. This module imports nothing that is slow to import.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import distributions
from pathlib import Path

from lnlab.errors import LabError
from lnlab.keys import Json, digest, digest_bytes
from lnlab.userfiles import LARGEST_SPEC, read_user_file

_PACKAGE = Path(__file__).parents[1]
_BOM = b"\xef\xbb\xbf"
_ABSENT = -1
"""The size of a file that is not there."""


@dataclass(frozen=True, slots=True)
class Input:
    """A file as it was when the plan was compiled. ``mtime_ns`` spares reading it again."""

    path: str
    size: int
    mtime_ns: int
    sha256: str


@dataclass(frozen=True, kw_only=True)
class SpecIdentity:
    """What was asked, and the digest of all that the answer depends on: the same of a plan and of its report.

    Attributes:
        name: the stem of the spec's file.
        digest: of spec, profile, overrides, code, plugins and the content of the files that the spec names.
        profile: the profile, or None for the default.
        overrides: what ``-s`` gave, left to right.
    """

    name: str
    digest: str
    profile: str | None = None
    overrides: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class PlanIdentity(SpecIdentity):
    """The identity of a plan, computed or stored, and what says whether a stored one still holds.

    Attributes:
        quick: ``quick_digest`` of the same call: the name under which the plan is remembered.
        inputs: files named by the spec whose content joins the keys.
    """

    quick: str
    inputs: tuple[Input, ...] = ()


@cache
def source_digest() -> str:
    """The digest of every Python file of lnlab, with its place in the package."""
    files = sorted(_PACKAGE.rglob("*.py"))
    return digest([[file.relative_to(_PACKAGE).as_posix(), digest_bytes(file.read_bytes())] for file in files])


@cache
def third_parties() -> str:
    """The digest of the entry points that register pieces, with the versions of what provides them."""
    registrations = [
        [point.group, point.name, point.value, distribution.version]
        for distribution in distributions()
        for point in distribution.entry_points
        if point.group.startswith("lnlab.")
    ]
    return digest(sorted(registrations))


def quick_digest(
    spec: Path,
    profile: str | None = None,
    overrides: Sequence[str] = (),
    *,
    roots: Sequence[Path] = (),
    plugins: Sequence[str] = (),
    content: bytes | None = None,
) -> str | None:
    """The name under which a plan is remembered, or None where the file cannot be read (``load`` says why).

    Args:
        spec: the spec's file.
        profile: its profile.
        overrides: the arguments of ``-s``, in order.
        roots: folders of data, searched in order.
        plugins: the digests of the plugin files, in order.
        content: that of a spec which is no file.
    """
    try:
        content = read_user_file(spec, "spec", LARGEST_SPEC) if content is None else content
    except LabError:
        return None
    # As the loader reads it: neither a byte order mark nor line ends make another plan.
    text = content.removeprefix(_BOM).replace(b"\r\n", b"\n")
    return remembered_name(plan_identity(spec.stem, text, profile, overrides, plugins), roots)


def plan_identity(
    name: str, text: bytes, profile: str | None, overrides: Sequence[str], plugins: Sequence[str]
) -> list[Json]:
    """The spec, its overlays and the code: the part that both digests of a plan share."""
    overlay = [profile, list(overrides), list(plugins)]
    return ["plan", name, digest_bytes(text), *overlay, source_digest(), third_parties()]


def remembered_name(identity: list[Json], roots: Sequence[Path]) -> str:
    """The quick digest: the identity of the plan and the folders that are searched for data."""
    return digest([*identity, "roots", [str(root.absolute()) for root in roots]])


def plan_digest(identity: list[Json], inputs: Iterable[Input]) -> str:
    """The digest of a plan: its identity and the content of its inputs, wherever they lie."""
    return digest([*identity, "inputs", sorted({file.sha256 for file in inputs})])


def input_of(path: Path) -> Input:
    """The file as it is now.

    Raises:
        OSError: it cannot be read.
    """
    status = path.stat()
    with path.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    return Input(str(path.absolute()), status.st_size, status.st_mtime_ns, sha256)


def absent_input(path: Path) -> Input:
    """A file that a plan would depend on if it were there."""
    return Input(str(path.absolute()), _ABSENT, 0, "")


def unchanged(inputs: Iterable[Input]) -> bool:
    """Whether every file is what it was. Only one whose time of change moved is read again."""
    for file in inputs:
        path = Path(file.path)
        if file.size == _ABSENT:
            # A report that was not there can be cited now, which changes what the plan reads.
            if path.exists():
                return False
            continue
        try:
            status = path.stat()
            if status.st_size != file.size:
                return False
            if status.st_mtime_ns != file.mtime_ns and input_of(path).sha256 != file.sha256:
                return False
        except OSError:
            return False
    return True
