"""Put the stretches of finished trajectories into packs, and drop the ones that add nothing.

It may be killed at any point, and may happen while others read and work: a committed stretch never changes, it is
removed from its folder only when a pack that holds it is on the disk, and where it lies twice it counts once.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path

import polars as pl

from lnlab.keys import canonical
from lnlab.store import files
from lnlab.store.leases import acquire_lease
from lnlab.store.packs import (
    FULL_PACK,
    HIDDEN_PREFIX,
    INDEX_COPY_FILE,
    INDEX_FILE,
    PACKS_FOLDER,
    RECORD_WEIGHT,
    RECORDS,
    RECORDS_SCHEMA,
    Pack,
    PackedTable,
    Packs,
    packed_schema,
)
from lnlab.store.plans import in_plan_order
from lnlab.store.records.checksummed import CorruptFile, to_checksummed_json
from lnlab.store.records.coverage import superseded_records
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
from lnlab.store.records.record import Record, read_record
from lnlab.store.records.records import StoreReader
from lnlab.store.stretch import Stretch

MIN_LOOSE_TRAJECTORIES = 64
"""With fewer finished trajectories outside of packs, there is no pack made of them."""

GROUP_STRETCHES = 64
"""Stretches of a group of rows, about: what is lost where a bit flips."""

MAX_SMALL_PACKS = 16
"""With more packs than this that are not full, they are joined."""

_MOST_GROUP_ROWS = 1 << 16
_BYTES_OF_A_ROW = 64
"""In memory, about."""


@contextmanager
def packs_locked(root: Path) -> Iterator[bool]:
    """Lock the packs while the context is open, and yield whether this process has the lock.

    With the lock, it first removes packs that a killed process left half written.

    Raises:
        StoreError: the store cannot be written.
    """
    refuse_report(root)
    files.make_folder(root / PACKS_FOLDER)
    with files.locked(root / PACKS_FOLDER / f"{HIDDEN_PREFIX}lock", wait=False) as acquired:
        if acquired:
            for leftover in (root / PACKS_FOLDER).glob(f"{HIDDEN_PREFIX}*-*"):
                files.remove(leftover)
        yield acquired


def pack_store(root: Path) -> None:
    """Tidy a store: remove what lies there twice, and pack what is finished once that is enough for a pack.

    If another process does so, do nothing.

    Raises:
        StoreError: the store cannot be written. Finished rows are kept.
    """
    if not (root / "trajectories").is_dir():
        return
    with packs_locked(root) as acquired:
        if not acquired:
            return
        loose: dict[str, list[Record]] = {}
        reader = StoreReader(root)
        for folder in sorted((root / "trajectories").glob("??/*"), key=lambda folder: folder.name):
            if not stretches(folder) or (folder / LEASE_FILE).exists():  # nothing to pack, or somebody works there
                files.remove_empty(folder)
                continue
            records = reader.read(folder.name).records
            if records and records[-1].outcome["status"] != "interrupted":  # else it is to be gone on with
                loose[folder.name] = records
        for trajectory, records in loose.items():
            _prune(root, trajectory, records)
        if len(loose) >= MIN_LOOSE_TRAJECTORIES:
            _pack(root, in_plan_order(root, set(loose)))
        _join(root)


def _prune(root: Path, trajectory: str, records: list[Record]) -> None:
    """Remove the stretches whose rows others hold as well, damaged ones too."""
    folder = trajectory_folder(root, trajectory)
    intact = {record.folder for record in records}
    damaged = []
    for stretch in stretches(folder):
        with suppress(CorruptFile, FileNotFoundError):
            if stretch not in intact:
                damaged.append(read_record(stretch))
    surplus = [record for record in superseded_records(records, damaged) if record.folder.is_dir()]
    if not surplus:
        return
    lease = acquire_lease(folder / LEASE_FILE, root / LOCK_FILE)
    if lease is None:  # somebody works there: the next time will do
        return
    try:
        for record in surplus:
            remove_stretch(record.folder)
    finally:
        lease.release()


def remove_stretch(stretch: Path) -> None:
    """Remove a stretch. Its record goes first: what remains is then not reported as damaged."""
    files.remove(stretch / RECORD_FILE)
    files.remove(stretch)


def _quickly_encoded(rows: pl.DataFrame, group: int) -> bytes:
    buffer = BytesIO()
    # No statistics: the index of the pack says which groups are read.
    rows.write_parquet(buffer, compression="zstd", compression_level=3, statistics=False, row_group_size=group)
    return buffer.getvalue()


@dataclass
class PackWriter:
    """Stretches that become a pack, and the folders that they replace.

    Attributes:
        root: the store.
        weight: rows in memory.
        encode: a table as a file, in groups of so many rows.
    """

    root: Path
    weight: int = 0
    encode: Callable[[pl.DataFrame, int], bytes] = _quickly_encoded
    _stretches: dict[tuple[str, str], Stretch] = field(default_factory=dict)
    _tables: dict[str, dict[int, pl.DataFrame]] = field(default_factory=dict)
    _replaced: list[Path] = field(default_factory=list)

    @property
    def is_full(self) -> bool:
        """Whether the pack has as many rows as one should."""
        return self.weight >= FULL_PACK

    def add(self, stretch: Stretch, tables: Mapping[str, pl.DataFrame], replaced: Path | None = None) -> None:
        """Add a stretch with its rows, unless it is there already. ``replaced`` is removed once the pack is visible.

        The tables have no columns but those of ``tables.table_schema``.
        """
        if replaced is not None:
            self._replaced.append(replaced)
        key = stretch.record.trajectory, stretch.record.folder.name
        if key in self._stretches:
            return
        for table, rows in tables.items():
            if rows.height:
                self._tables.setdefault(table, {})[len(self._stretches)] = rows
                self.weight += rows.height
        self._stretches[key] = stretch
        self.weight += RECORD_WEIGHT + len(stretch.output) // _BYTES_OF_A_ROW

    def close(self) -> None:
        """Make the pack visible, then remove what it replaces.

        Raises:
            StoreError: the store cannot be written. Finished rows are kept.
        """
        if self._stretches:
            name = stretch_name(0)
            hidden = self.root / PACKS_FOLDER / f"{HIDDEN_PREFIX}{name}"
            files.make_folder(hidden)
            contents = self.contents()
            for file, content in {**contents, INDEX_COPY_FILE: contents[INDEX_FILE]}.items():
                files.write(hidden / file, content)
            # Everything is on the disk before it gets its name, and has its name before what it replaces goes.
            files.sync_folder(hidden)
            files.rename(hidden, self.root / PACKS_FOLDER / name)
            for folder in self._replaced:
                remove_stretch(folder)
                files.remove_empty(folder.parent)
        self._stretches, self._tables, self._replaced, self.weight = {}, {}, [], 0

    def contents(self) -> dict[str, bytes]:
        """The files of the pack by name, the index last."""
        records = [
            (
                stretch.record.trajectory,
                stretch.record.folder.name,
                stretch.record.first_step,
                stretch.record.steps,
                None if stretch.record.asked == stretch.record.measurements else list(stretch.record.asked),
                list(stretch.record.measurements),
                canonical(dict(stretch.record.outcome)),
                canonical(dict(stretch.record.files)),
                stretch.output or None,
                list(stretch.record.thinned) or None,
            )
            for stretch in self._stretches.values()
        ]
        rows = {RECORDS: pl.DataFrame(records, schema=RECORDS_SCHEMA, orient="row")}
        rows |= {table: self._packed_rows(table, parts) for table, parts in self._tables.items()}
        tables, contents = {}, {}
        for table, frame in rows.items():
            tables[table], contents[f"{table}.parquet"] = self._packed(table, frame)
        index = Pack(self.root, list(self._stretches), tables).to_index()
        return {**contents, INDEX_FILE: to_checksummed_json(index)}

    def _packed_rows(self, table: str, parts: Mapping[int, pl.DataFrame]) -> pl.DataFrame:
        """The rows of a table, each with its trajectory and stretch in front."""
        keys = list(self._stretches)
        columns = {"trajectory": [keys[at][0] for at in parts], "stretch": [keys[at][1] for at in parts]}
        lengths = [rows.height for rows in parts.values()]
        names = pl.DataFrame(columns).select(pl.all().repeat_by(pl.Series(lengths)).explode())
        rows = pl.concat(parts.values())
        return rows.with_columns(names).select(packed_schema(table).names())

    def _packed(self, table: str, rows: pl.DataFrame) -> tuple[PackedTable, bytes]:
        """A table of the pack, and its file."""
        parts = self._tables.get(table, {})
        numbers = range(len(self._stretches))
        counts = [1] * len(numbers) if table == RECORDS else [parts[n].height if n in parts else 0 for n in numbers]
        per_stretch = -(-rows.height // sum(map(bool, counts)))
        group = min(GROUP_STRETCHES * per_stretch, _MOST_GROUP_ROWS)
        content = self.encode(rows, group)
        return PackedTable.of(self.root / f"{table}.parquet", counts, content), content


def _pack(root: Path, trajectories: list[str]) -> None:
    """Put the stretches of these trajectories into packs, in this order."""
    writer, reader = PackWriter(root), StoreReader(root)
    for trajectory in trajectories:
        for folder in stretches(trajectory_folder(root, trajectory)):
            with suppress(CorruptFile, FileNotFoundError):
                stretch = reader.read_stretch(folder)
                with suppress(OSError):
                    stretch = replace(stretch, output=(folder / OUTPUT_FILE).read_bytes())
                if stretch.is_known:
                    writer.add(stretch, stretch.tables(), replaced=folder)
        if writer.is_full:
            writer.close()
    writer.close()


def _join(root: Path) -> None:
    """Join packs that are not full. A damaged pack and one of a newer lnlab stay unchanged."""
    small = [pack for pack in Packs(root).current() if pack.is_small]
    if len(small) <= MAX_SMALL_PACKS:
        return
    writer = PackWriter(root)
    joined: list[Pack] = []
    for pack in small:
        found, damaged = pack.read(pack.holds)
        if damaged:
            continue
        for stretch in found:
            writer.add(stretch, stretch.tables())
        joined.append(pack)
        if writer.is_full:
            replace_packs(writer, joined)
            joined = []
    replace_packs(writer, joined)


def replace_packs(writer: PackWriter, joined: Sequence[Pack]) -> None:
    """Make what was written visible, then remove the packs that it replaces.

    Raises:
        StoreError: the store cannot be written. Finished rows are kept.
    """
    writer.close()
    for source in joined:
        hidden = source.folder.with_name(f"{HIDDEN_PREFIX}{source.folder.name}")
        files.rename(source.folder, hidden)
        files.remove(hidden)
