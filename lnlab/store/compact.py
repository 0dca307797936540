"""The whole results of a large finished plan in a few files: thousands of small ones take a second to read, these none.

A copy of the records: it is complete and checksum-verified, or it is as if it were not there. Its rows lie in the order
of the plan, with the axes of the sweep as columns and the least and largest value of every column for each group of
rows, so that a reader of some settings decodes only theirs. It is made in slices and read table by table: neither needs
the memory that all rows would.
"""

import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

import polars as pl

from lnlab.errors import StoreError
from lnlab.issues import Issue
from lnlab.keys import digest_bytes
from lnlab.store import files
from lnlab.store.records.checksummed import (
    CorruptFile,
    digest_of_file,
    from_checksummed_json,
    read_bytes,
    to_checksummed_json,
    well_formed,
)
from lnlab.store.records.layout import RECORD_FILE, plan_folder, stretch_name
from lnlab.tables import AXIS_PREFIX, Results, wide_axes

MIN_COMPACTED_TRAJECTORIES = 500
"""Plans of more trajectories than this are compacted once they are complete."""

GROUP_ROWS = 1 << 16
"""Rows of a group, which is decoded or skipped as a whole."""

LARGEST_TABLE_IN_MEMORY = 128 * 1024 * 1024
"""Bytes of a table's files beyond which it is scanned anew for each question, and never held whole."""

_PREFIX = "whole-"
_SETTLED = 2_000_000_000
"""Nanoseconds after which a further change of a file certainly shows in its time of change."""


class TableFiles(Mapping[str, pl.DataFrame]):
    """Tables that lie in files, each read when it is first asked for."""

    def __init__(self, scans: Mapping[str, pl.LazyFrame]) -> None:
        self.scans = scans
        self._read = dict[str, pl.DataFrame]()

    def __getitem__(self, table: str) -> pl.DataFrame:
        if table not in self._read:
            rows = self.scans[table].select(pl.exclude(f"^{re.escape(AXIS_PREFIX)}.*$"))
            try:
                self._read[table] = rows.collect()
            except OSError as error:
                what = f"a copy of these results was removed while it was read ({error.strerror or error})"
                raise StoreError(Issue("busy", table, what, "do this again")) from error
        return self._read[table]

    def __contains__(self, table: object) -> bool:
        return table in self.scans

    def __iter__(self) -> Iterator[str]:
        return iter(self.scans)

    def __len__(self) -> int:
        return len(self.scans)


def _folders(root: Path, digest: str) -> list[Path]:
    return sorted(plan_folder(root, digest).glob(f"{_PREFIX}*"))


def has_compacted(root: Path, digest: str) -> bool:
    """Whether a plan was compacted, and every file of the copy is what was written.

    Raises:
        StoreError: this user may not read them.
    """
    return _intact_copy(root, digest) is not None


def read_compacted(root: Path, digest: str) -> Results | None:
    """The results of a plan that was compacted, every file verified; None if there are none, or they are not whole.

    Raises:
        StoreError: this user may not read them.
    """
    tables = _files_of_copy(root, digest)
    if tables is None:
        return None
    runs, axes = (_scan(tables.pop(name)).collect() for name in ("runs", "axes"))
    scans = {name: _scan(paths) for name, paths in tables.items()}
    large = {name for name, paths in tables.items() if _size(paths) > LARGEST_TABLE_IN_MEMORY}
    return Results(runs, axes, TableFiles(scans), scans={name: scans[name] for name in large})


def _files_of_copy(root: Path, digest: str) -> dict[str, list[Path]] | None:
    """Table -> the files of the copy of a plan that hold its rows, in order, all verified; None: there is no copy."""
    copy = _intact_copy(root, digest)
    if copy is None:
        return None
    folder, names = copy
    tables: dict[str, list[Path]] = {}
    for name in sorted(names):
        tables.setdefault(name.removesuffix(".parquet").partition("-")[0], []).append(folder / name)
    return tables


def _scan(paths: Sequence[Path]) -> pl.LazyFrame:
    """The rows of these files; Polars knows files by names in UTF-8 alone, so that others are read."""
    try:
        sources: list[Any] = [str(path).encode().decode() for path in paths]
    except UnicodeEncodeError:
        sources = [read_bytes(path) for path in paths]
    return pl.scan_parquet(sources, glob=False)


def _size(paths: Iterable[Path]) -> int:
    return sum(path.stat().st_size for path in paths)


def _intact_copy(root: Path, digest: str) -> tuple[Path, tuple[str, ...]] | None:
    """The folder of the copy of a plan and the names of its files, each verified."""
    for folder in _folders(root, digest):
        with suppress(CorruptFile):
            record = from_checksummed_json(read_bytes(folder / RECORD_FILE), folder / RECORD_FILE)
            with well_formed(folder / RECORD_FILE):
                if record["plan"] != digest:
                    continue
                paths = {folder / Path(name).name: sha256 for name, sha256 in record["files"].items()}
            with ThreadPoolExecutor(max_workers=2) as threads:
                list(threads.map(_verify, paths, paths.values()))
            return folder, tuple(path.name for path in paths)
    return None


def _verify(path: Path, sha256: str) -> None:
    """Verify a file, once while this process lives and the file has its size and its time of change.

    Raises:
        CorruptFile: it is not what was written.
    """
    try:
        status = path.stat()
    except OSError as error:
        raise CorruptFile(f"{path} is missing") from error
    identity = path, status.st_size, status.st_mtime_ns, status.st_ino
    settled = time.time_ns() - status.st_mtime_ns > _SETTLED
    if (_digest(*identity) if settled else digest_of_file(path)) != sha256:
        raise CorruptFile(f"{path} is truncated or altered")


@cache
def _digest(path: Path, size: int, changed: int, inode: int) -> str:
    del size, changed, inode  # what makes it another file
    return digest_of_file(path)


def write_compacted(root: Path, digest: str, axes: pl.DataFrame, slices: Iterable[Results]) -> bool:
    """Compact a plan: its tables first, the record last; what lay there before and is not intact is removed at the end.

    Args:
        root: the store.
        digest: of the plan.
        axes: of the plan.
        slices: its results, some runs after the others, in the order of the plan.

    Returns:
        Whether there is a copy now; there is none of a plan of which some run has not ended.

    Raises:
        StoreError: the store cannot be written; nothing is visible.
    """
    older_folders = _folders(root, digest)
    folder = plan_folder(root, digest) / f"{_PREFIX}{stretch_name(0)}"
    try:
        files.make_folder(folder)
        digests = _write_slices(folder, axes, slices)
        if digests is None:
            files.remove(folder)
            return False
        files.sync_folder(folder)
        files.replace(folder / RECORD_FILE, to_checksummed_json({"plan": digest, "files": digests}))
    except StoreError:
        with suppress(StoreError):
            files.remove(folder)
        raise
    for older in older_folders:
        files.remove(older)
    return True


def _write_slices(folder: Path, axes: pl.DataFrame, slices: Iterable[Results]) -> dict[str, str] | None:
    """The files of all slices, name -> digest; None where some run has not ended."""
    digests: dict[str, str] = {}
    runs = []
    wide = wide_axes(axes, AXIS_PREFIX)
    for number, part in enumerate(slices):
        if not part.ended:
            return None
        runs.append(part.runs)
        for table, rows in part.tables.items():
            if number == 0 or rows.height:  # a table without rows has its columns in the first slice
                ordered = rows.join(wide, on="run", how="left", maintain_order="left")
                _write(folder, f"{table}-{number:05}", ordered, digests)
    _write(folder, "runs", pl.concat(runs), digests)
    _write(folder, "axes", axes, digests)
    return digests


def _write(folder: Path, name: str, rows: pl.DataFrame, digests: dict[str, str]) -> None:
    buffer = BytesIO()
    rows.write_parquet(buffer, compression="zstd", compression_level=3, statistics=True, row_group_size=GROUP_ROWS)
    content = buffer.getvalue()
    files.write(folder / f"{name}.parquet", content)
    digests[f"{name}.parquet"] = digest_bytes(content)
