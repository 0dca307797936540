"""Where a worker puts what it found: a folder that nobody sees before its record is there."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from io import BytesIO
from math import isfinite
from pathlib import Path
from typing import Any

import polars as pl

from lnlab.errors import StoreError
from lnlab.keys import digest_bytes
from lnlab.store import files
from lnlab.store.layout import LEASE, OUTPUT, RECORD, stretch_name, stretches, trajectory_folder
from lnlab.store.leases import PERIOD, Lease, acquire
from lnlab.store.records import Record, look
from lnlab.tables import Row, frame

LINES = 50
"""How many lines of a worker's output are kept."""


@dataclass(frozen=True)
class Opener:
    """Opens units of one store; small and plain, so that it can be sent to a worker."""

    root: Path
    period: float = PERIOD

    def __call__(self, key: str) -> "Unit | None":
        """The unit of a trajectory, or None while another process works on it.

        Raises:
            StoreError: the store cannot be written.
        """
        folder = trajectory_folder(self.root, key)
        files.make_folder(folder)
        lease = acquire(folder / LEASE, self.root / "lock", self.period)
        if lease is None:
            return None
        try:
            said = _clear(folder)
            unit = Unit(self.root, key, folder / stretch_name(0), lease)
            files.make_folder(unit.folder)
            if said:
                files.write(unit.output, said)
        except StoreError:
            with suppress(StoreError):
                lease.release()
            raise
        return unit


def _clear(folder: Path) -> bytes:
    """Remove stretches that were never committed (the lease is ours: nobody works there); what they printed last."""
    said = b""
    for stretch in stretches(folder):
        if not (stretch / RECORD).exists():
            with suppress(FileNotFoundError):
                said = (stretch / OUTPUT).read_bytes()
            files.remove(stretch)
    return said


@dataclass
class Unit:
    """One stretch of work on a trajectory, under its lease. Ends with ``commit`` or ``abandon``.

    Attributes:
        root: the store.
        trajectory: key of the trajectory.
        folder: where its files will lie.
        lease: says that this process works on it.
        first_step: updates done when it begins.
    """

    root: Path
    trajectory: str
    folder: Path
    lease: Lease
    first_step: int = 0
    _asked: tuple[str, ...] = ()
    _frames: dict[str, list[pl.DataFrame]] = field(default_factory=dict)

    @property
    def output(self) -> Path:
        """The file that what the worker prints may go to; its last lines are kept."""
        return self.folder / OUTPUT

    def missing(self, measurements: Sequence[str]) -> list[str]:
        """Which of these nobody has taken yet; the record will say that the others were not asked for."""
        held = look(self.root, self.trajectory).first()
        self._asked = tuple(key for key in measurements if key not in held)
        return list(self._asked)

    def settled(self) -> bool:
        """Whether an intact record says that the trajectory finished."""
        return any(record.finished for record in look(self.root, self.trajectory).records)

    def write(self, table: str, rows: Iterable[Row]) -> None:
        """Add rows to one of the tables that workers write."""
        self._frames.setdefault(table, []).append(frame(table, rows))

    def commit(self, measurements: Sequence[str], outcome: Row) -> None:
        """Make everything written visible at once, and end.

        Raises:
            StoreError: the store cannot be written; nothing is visible.
        """
        try:
            digests = self._write_tables(outcome)
            self._trim()
            files.sync_folder(self.folder)
            asked = tuple(dict.fromkeys((*self._asked, *measurements)))
            record = Record(
                folder=self.folder,
                trajectory=self.trajectory,
                first_step=self.first_step,
                steps=outcome["steps"],
                asked=asked,
                measurements=tuple(measurements),
                outcome=_plain(outcome),
                files=digests,
            )
            files.replace(self.folder / RECORD, record.content())
        except StoreError:
            self._withdraw()
            raise
        with suppress(StoreError):  # what counts is on the disk; the lease ends with this process
            self.lease.release()

    def abandon(self) -> None:
        """End without a trace.

        Raises:
            StoreError: the store cannot be written.
        """
        try:
            files.remove(self.folder)
        finally:
            self.lease.release()

    def _withdraw(self) -> None:
        with suppress(StoreError):
            if not (self.folder / RECORD).exists():
                files.remove(self.folder)
        with suppress(StoreError):
            self.lease.release()

    def _write_tables(self, outcome: Row) -> dict[str, str]:
        made = {"outcomes": frame("outcomes", [outcome])}
        made |= {table: pl.concat(parts) for table, parts in self._frames.items()}
        digests = {}
        for table, rows in made.items():
            content = parquet(rows)
            files.write(self.folder / f"{table}.parquet", content)
            digests[f"{table}.parquet"] = digest_bytes(content)
        return digests

    def _trim(self) -> None:
        """Keep the last lines that the worker printed; none at all, no file."""
        try:
            said = self.output.read_bytes()
        except FileNotFoundError:
            return
        kept = b"".join(said.splitlines(keepends=True)[-LINES:])
        files.replace(self.output, kept) if kept else files.remove(self.output)


def parquet(rows: pl.DataFrame) -> bytes:
    """The rows as Parquet: the same rows, the same bytes."""
    buffer = BytesIO()
    rows.write_parquet(buffer, compression="zstd", compression_level=3)
    return buffer.getvalue()


def _plain(outcome: Row) -> Mapping[str, Any]:
    """An outcome as JSON can hold it: a number that is not finite becomes null."""
    return {k: None if isinstance(v, float) and not isfinite(v) else v for k, v in outcome.items()}
