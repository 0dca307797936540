"""What a remote holds of a unit: its stretches of work, each one file, and the manifest that lists them.

A segment is the files of a stretch end to end, the record first. A manifest has no settings: a unit is asked for by the
key that follows from the spec here, so that a manifest can give a setting no other result.
"""

import json
import re
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from lnlab.errors import StoreError
from lnlab.issues import Issue
from lnlab.keys import KEY_DIGITS, canonical, digest, digest_bytes
from lnlab.store.records.layout import RECORD_FILE
from lnlab.store.remote import MANIFESTS, Remote, Untrusted
from lnlab.store.stretch import Stretch
from lnlab.tables import WRITTEN_BY_WORKERS, encode_parquet, frame

MANIFEST_FORMAT = 1
LARGEST_MANIFEST = 4 * 1024 * 1024
LARGEST_PART = 128 * 1024 * 1024
"""Bytes of one file of a stretch."""
MOST_MANIFESTS = 10_000
KEY = re.compile(rf"[0-9a-f]{{16,{KEY_DIGITS}}}")  # committed reports have some of 16
_SHA256 = re.compile(r"[0-9a-f]{64}")
_STRETCH = re.compile(r"(?:0|[1-9][0-9]{0,11})-[0-9a-f]{12,24}")
_FILES = {RECORD_FILE, *(f"{table}.parquet" for table in WRITTEN_BY_WORKERS)}
_MALFORMED = (KeyError, TypeError, ValueError, IndexError, AttributeError, RecursionError)


@dataclass(frozen=True)
class Segment:
    """A stretch of work as a manifest lists it.

    Attributes:
        stretch: its name.
        sha256: of its bytes.
        files: (name, size) of each of its files, in the order in which they lie there.
    """

    stretch: str
    sha256: str
    files: tuple[tuple[str, int], ...]

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(size for _, size in self.files)

    def split(self, content: bytes) -> dict[str, bytes]:
        """Its files by name."""
        contents, start = {}, 0
        for name, size in self.files:
            contents[name] = content[start : start + size]
            start += size
        return contents


def encode_segment(stretch: Stretch) -> tuple[Segment, bytes]:
    """A stretch of work and its bytes.

    Raises:
        PackReplaced: it lay in a pack that is gone.
        StoreError: it lies in a pack of a newer lnlab, whose rows this one would send in part.
    """
    record, contents = stretch.record, stretch.files
    if contents is None:
        if not stretch.is_known:
            what = "a pack of this store holds columns that only a newer lnlab knows"
            raise StoreError(Issue("unsupported", str(record.folder), what, "update lnlab here, then do this again"))
        # made again of its rows: the bytes that were committed, if this Polars writes what that one wrote
        tables = {"outcomes": frame("outcomes", [record.outcome]), **stretch.tables()}
        contents = {f"{table}.parquet": encode_parquet(rows) for table, rows in tables.items()}
        record = replace(record, files={name: digest_bytes(content) for name, content in contents.items()})
    files = [(RECORD_FILE, record.content()), *sorted(contents.items())]
    content = b"".join(part for _, part in files)
    sizes = tuple((name, len(part)) for name, part in files)
    return Segment(record.folder.name, digest_bytes(content), sizes), content


def question_of(text: str, profile: str | None, overrides: Iterable[str]) -> str:
    """The name of a question at a remote: of a spec by its digest, a profile and overrides."""
    return digest(["question", text, profile, list(overrides)])


def encode_manifest(units: Mapping[str, Iterable[Segment]]) -> bytes:
    """A manifest of units by trajectory."""
    plain = [
        [trajectory, [[s.stretch, s.sha256, [list(file) for file in s.files]] for s in segments]]
        for trajectory, segments in sorted(units.items())
    ]
    return canonical({"format": MANIFEST_FORMAT, "units": plain}).encode()


def manifest_names(remote: Remote, question: str | None = None) -> list[tuple[str, int]]:
    """Return names and sizes of the manifests of a question, or of all questions if it is None.

    Raises:
        StoreError: they cannot be listed.
    """
    questions = remote.folders(MANIFESTS) if question is None else [question]
    return [
        (f"{MANIFESTS}/{name}/{sha256}", size)
        for name in questions
        for sha256, size in sorted(remote.digests(f"{MANIFESTS}/{name}").items())
    ]


def read_manifest(
    remote: Remote, name: str, size: int, wanted: Container[str] | None = None
) -> dict[str, tuple[Segment, ...]]:
    """The units that a manifest lists: trajectory -> segments.

    Args:
        remote: the place.
        name: of the manifest there.
        size: of its file.
        wanted: the units that are kept of it. None keeps all.

    Raises:
        Untrusted: it is too large, or not what its name says, or no manifest.
        StoreError: it cannot be read.
    """
    place = remote.place(name)
    if not 0 < size <= LARGEST_MANIFEST:
        raise Untrusted(place, f"has {size:,} bytes, and a manifest has at most {LARGEST_MANIFEST:,}")
    content = remote.read(name, size)
    try:
        fields = json.loads(content)
        if fields["format"] != MANIFEST_FORMAT:
            what = f"is of format {str(fields['format'])[:20]}, and this lnlab reads {MANIFEST_FORMAT}"
            raise Untrusted(place, what, "nothing was written; update lnlab here")
        if fields.keys() != {"format", "units"}:
            raise ValueError("other fields than those of a manifest")
        units: dict[str, tuple[Segment, ...]] = {}
        for trajectory, segments in fields["units"]:
            if _matching(KEY, trajectory) in units:
                raise Untrusted(place, "lists a unit twice")
            if wanted is not None and trajectory not in wanted:
                continue
            units[trajectory] = tuple(_segment(*entry) for entry in segments)
            if len({segment.stretch for segment in units[trajectory]}) != len(units[trajectory]):
                raise Untrusted(place, "lists a stretch of work twice")
    except _MALFORMED as error:
        raise Untrusted(place, "is no manifest of lnlab push") from error
    return units


def _segment(stretch: Any, sha256: Any, files: Any) -> Segment:
    sizes = tuple((name, size) for name, size in files)
    names = [name for name, _ in sizes]
    if names[0] != RECORD_FILE or len(set(names)) != len(names) or not set(names) <= _FILES:
        raise ValueError("other files than those of a stretch of work")
    # An integer is meant: True would pass for one.
    if not all(type(size) is int and 0 < size <= LARGEST_PART for _, size in sizes):
        raise ValueError("a file without a size, or a size that none has")
    return Segment(_matching(_STRETCH, stretch), _matching(_SHA256, sha256), sizes)


def _matching(pattern: re.Pattern[str], text: Any) -> str:
    if not isinstance(text, str) or not pattern.fullmatch(text):
        raise ValueError("no such name")
    return text
