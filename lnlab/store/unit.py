"""Where a worker puts its rows: a folder that is invisible until its record is written."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path

import polars as pl

from lnlab.errors import StoreError
from lnlab.keys import Json, digest_bytes
from lnlab.store import files
from lnlab.store.leases import LEASE_PERIOD, Lease, acquire_lease
from lnlab.store.live import append_point, remove_points
from lnlab.store.records.coverage import coverage_of
from lnlab.store.records.layout import (
    LEASE_FILE,
    LOCK_FILE,
    OUTPUT_FILE,
    RECORD_FILE,
    refuse_report,
    stretch_name,
    stretches,
    trajectory_folder,
)
from lnlab.store.records.record import Record
from lnlab.store.records.records import StoreReader, read_trajectory
from lnlab.store.records.states import latest_state, remove_states, save_state
from lnlab.tables import LivePoint, Resumed, Row, SavedState, encode_parquet, frame

MAX_OUTPUT_LINES, MAX_OUTPUT_BYTES = 50, 64 * 1024
"""How many lines of a worker's output are stored, and how many bytes at most."""

MAX_REMOVALS = 9
"""How often a folder may vanish before it has a lease. After that, another process is taken to hold the trajectory."""


def open_unit(root: Path, key: str, period: float = LEASE_PERIOD) -> "StoreUnit | None":
    """The unit of a trajectory in a store, or None while another process works on it.

    Args:
        root: the store.
        key: of the trajectory.
        period: seconds without a sign of life after which somebody else's lease is void.

    Raises:
        StoreError: the store cannot be written.
    """
    refuse_report(root)
    folder = trajectory_folder(root, key)
    lease = None
    for _ in range(MAX_REMOVALS):  # the folder is removed when what lay in it is packed: then it is made again
        with suppress(files.Vanished):
            files.make_folder(folder)
            lease = acquire_lease(folder / LEASE_FILE, root / LOCK_FILE, period)
            break
    if lease is None:
        return None
    try:
        printed = b""
        for stretch in stretches(folder):
            # It was never committed, and nobody works on it, as the lease is ours: only what it printed stays.
            if stretch.is_dir() and not (stretch / RECORD_FILE).exists():
                with suppress(FileNotFoundError):
                    printed = (stretch / OUTPUT_FILE).read_bytes()
                files.remove(stretch)
        unit = StoreUnit(root, key, folder / stretch_name(0), lease)
        files.make_folder(unit.folder)
        if printed:
            files.write(unit.output, printed)
    except StoreError:
        with suppress(StoreError):
            lease.release()
        raise
    return unit


@dataclass
class StoreUnit:
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
    _requested: tuple[str, ...] = ()
    _frames: dict[str, list[pl.DataFrame]] = field(default_factory=dict)

    @property
    def output(self) -> Path:
        """The file for what the worker prints. Its last lines are stored."""
        return self.folder / OUTPUT_FILE

    def missing(self, measurements: Sequence[str]) -> list[str]:
        """Return the measurements that have not been made. The record will say that only they were requested."""
        holders = read_trajectory(self.root, self.trajectory).first_holders()
        self._requested = tuple(key for key in measurements if key not in holders)
        return list(self._requested)

    def settled(self, steps: int = 0) -> bool:
        """Whether intact records reach this many updates, or the trajectory ended by itself before."""
        records = read_trajectory(self.root, self.trajectory).records
        coverage = coverage_of(records)
        reached = coverage.ended(steps) is not None or (steps and steps <= coverage.covered)
        return bool(reached) or (not steps and any(record.finished for record in records))

    def resume(self, limit: int) -> Resumed | None:
        """The last intact state of at most ``limit`` updates that committed rows reach. This stretch begins there."""
        found = StoreReader(self.root).read_rows(self.trajectory)
        state = latest_state(self.folder.parent, min(limit, coverage_of([record for record, _ in found]).covered))
        if state is None:
            return None
        renamed = self.folder.parent / stretch_name(state.step)  # nothing is written in it yet
        files.rename(self.folder, renamed)
        self.folder = renamed
        self.first_step = state.step
        rows = pl.concat([frame("curves", []), *(tables["curves"] for _, tables in found if "curves" in tables)])
        rows = rows.filter(pl.col("step") <= state.step).unique(["step", "split", "quantity"], keep="first")
        return Resumed(state.step, state.content, state.facts, rows.sort("step").to_dicts())

    def save(self, step: int, content: bytes, facts: Json) -> None:
        """Store a state. It counts once a committed stretch reaches it.

        Raises:
            StoreError: the store cannot be written.
        """
        save_state(self.folder.parent, SavedState(step, content, facts))

    def show(self, point: LivePoint) -> None:
        """Show readers where training is. Only committed rows count."""
        append_point(self.folder, point)

    def go_on(self, measurements: Sequence[str], outcome: Row) -> None:
        """Make everything written so far visible, and begin the next stretch under the same lease.

        States before the last one are removed: nothing leads back there.

        Raises:
            StoreError: the store cannot be written. Rows committed before stay.
        """
        self._write_record(measurements, outcome)  # what is printed goes on into the same file
        remove_states(self.folder.parent, outcome["steps"])
        self._frames = {}
        self.folder = self.folder.parent / stretch_name(outcome["steps"])
        self.first_step = outcome["steps"]
        files.make_folder(self.folder)

    def write(self, table: str, rows: Iterable[Row]) -> None:
        """Add rows to one of the tables that workers write."""
        made = frame(table, rows)  # fails before its table is one of those to be written
        self._frames.setdefault(table, []).append(made)

    def commit(self, measurements: Sequence[str], outcome: Row) -> None:
        """Make everything written visible at once, and end.

        Raises:
            StoreError: the store cannot be written. Then no row of this stretch is visible.
        """
        try:
            self._trim()
            self._write_record(measurements, outcome)
        except StoreError:
            with suppress(StoreError):
                # It is there where only the sync after its rename failed: then the stretch counts.
                if not (self.folder / RECORD_FILE).exists():
                    files.remove(self.folder)
            with suppress(StoreError):
                self.lease.release()
            raise
        with suppress(StoreError):
            remove_states(self.folder.parent, outcome["steps"] if outcome["status"] == "finished" else 0)
        with suppress(StoreError):  # what counts is on the disk, and the lease ends with this process
            self.lease.release()

    def _write_record(self, measurements: Sequence[str], outcome: Row) -> None:
        remove_points(self.folder)
        tables = {"outcomes": frame("outcomes", [outcome])}
        tables |= {table: pl.concat(parts, rechunk=True) for table, parts in self._frames.items()}
        digests = {}
        for table, rows in tables.items():
            content = encode_parquet(rows)
            files.write(self.folder / f"{table}.parquet", content)
            digests[f"{table}.parquet"] = digest_bytes(content)
        # JSON has no number that is not finite
        plain = {k: None if isinstance(v, float) and not isfinite(v) else v for k, v in outcome.items()}
        files.sync_folder(self.folder)  # the record makes the tables visible: they have to be on the disk before it
        record = Record(
            folder=self.folder,
            trajectory=self.trajectory,
            first_step=self.first_step,
            steps=outcome["steps"],
            asked=tuple(dict.fromkeys((*self._requested, *measurements))),
            measurements=tuple(measurements),
            outcome=plain,
            files=digests,
        )
        files.replace(self.folder / RECORD_FILE, record.content())

    def abandon(self) -> None:
        """End without a trace.

        Raises:
            StoreError: the store cannot be written.
        """
        try:
            files.remove(self.folder)
        finally:
            self.lease.release()

    def _trim(self) -> None:
        """Keep the last lines of the worker's output, or no file if it is empty. An unreadable file stays."""
        try:
            printed = files.read_end(self.output, MAX_OUTPUT_BYTES)
        except OSError:
            return
        last_lines = b"".join(printed.splitlines(keepends=True)[-MAX_OUTPUT_LINES:])
        files.replace(self.output, last_lines) if last_lines else files.remove(self.output)
