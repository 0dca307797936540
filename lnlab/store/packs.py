"""Packs: the stretches of many finished trajectories in one Parquet file a table, so that a run costs bytes, not files.

``packs/<name>/<table>.parquet`` has the rows of a table, with ``trajectory`` and ``stretch`` in front, in the order of
the stretches. ``records.parquet`` has the records and what workers printed. ``index.json`` names the stretches, how
many rows each has in each table, and the digest of each group of rows. A group is verified before it is read, so a
flipped bit costs the runs of one group. Without the index or the footer of a file all runs of a pack would be lost, so
the index lies there twice, and holds the footers.

A pack never changes. It appears under its name at once, by a rename, with everything on the disk, and only then are the
folders removed that it was made of: a reader that looks at a folder first and at the packs afterwards misses nothing.
"""

import json
import os
from base64 import b64decode, b64encode
from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from io import BytesIO
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import polars as pl

from lnlab.keys import Json, digest_bytes
from lnlab.store.files import as_store_error
from lnlab.store.parquet_sizes import parquet_sizes
from lnlab.store.records.checksummed import CorruptFile, from_checksummed_json, read_bytes, read_range, well_formed
from lnlab.store.records.layout import trajectory_folder
from lnlab.store.records.record import Record
from lnlab.store.stretch import PackReplaced, Stretch
from lnlab.tables import WRITTEN_BY_WORKERS, frame, table_schema

PACKS_FOLDER = "packs"
INDEX_FILE, INDEX_COPY_FILE = "index.json", "copy.json"
HIDDEN_PREFIX = "."
"""How the names of folders begin that are not yet packs, or no longer."""

FULL_PACK = 4_000_000
"""Rows after which a pack is full, so that it can be made in some hundred megabytes. Smaller packs are joined."""
RECORD_WEIGHT = 200
"""How many rows a record counts as: it has the keys of its measurements."""

_FULL_BYTES = 64 * 1024 * 1024

RECORDS = "records"
_WINDOW = 64
"""Stretches that are read together where they are asked for one by one."""
_STRETCH: dict[str, pl.DataType] = {"trajectory": pl.String(), "stretch": pl.String()}
_RECORD: dict[str, pl.DataType] = {"first_step": pl.Int64(), "steps": pl.Int64()}
_RECORD |= {"asked": pl.List(pl.String), "measurements": pl.List(pl.String)}
_RECORD |= {"outcome": pl.String(), "files": pl.String(), "output": pl.Binary(), "thinned": pl.List(pl.String)}
RECORDS_SCHEMA = pl.Schema({**_STRETCH, **_RECORD})
"""``asked`` is null if it equals ``measurements``, ``thinned`` if it is empty. ``outcome`` and ``files`` are JSON."""


def packed_schema(table: str) -> pl.Schema:
    """Columns of a table in a pack."""
    return RECORDS_SCHEMA if table == RECORDS else pl.Schema({**_STRETCH, **table_schema(table)})


@dataclass
class PackedTable:
    """One Parquet file of a pack.

    Attributes:
        path: of the file.
        rows: the number of rows of each stretch, in the order of the stretches.
        groups: offset, length, number of rows and SHA-256 of each group of rows. The first begins with the file.
        footer: what follows the last group.
    """

    path: Path
    rows: Sequence[int]
    groups: Sequence[tuple[int, int, int, str]]
    footer: bytes
    row_starts: list[int] = field(init=False, repr=False)
    group_starts: list[int] = field(init=False, repr=False)
    _damage: dict[int, str] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self.row_starts = list(accumulate(self.rows, initial=0))
        self.group_starts = list(accumulate((rows for _, _, rows, _ in self.groups), initial=0))

    @classmethod
    def of(cls, path: Path, rows: Sequence[int], content: bytes) -> "PackedTable":
        """The table whose file has this content.

        Raises:
            ValueError: it is no Parquet file with rows.
        """
        sizes = parquet_sizes(content)
        starts = [0, *(start for start, _ in sizes.groups[1:]), sizes.footer]
        groups = [
            (start, end - start, height, digest_bytes(content[start:end]))
            for (start, end), (_, height) in zip(pairwise(starts), sizes.groups, strict=True)
        ]
        return cls(path, rows, groups, content[sizes.footer :])

    @property
    def size(self) -> int:
        """Bytes of all groups."""
        return sum(length for _, length, _, _ in self.groups)

    @property
    def length(self) -> int:
        """Bytes of the file."""
        return self.size + len(self.footer)

    def groups_of(self, position: int) -> range:
        """The numbers of the groups that hold rows of a stretch."""
        first, end = self.row_starts[position], self.row_starts[position + 1]
        if first == end:
            return range(0)
        return range(bisect_right(self.group_starts, first) - 1, bisect_right(self.group_starts, end - 1))

    def damage(self, number: int) -> str:
        """A sentence if a group is not what was packed, else nothing.

        Raises:
            StoreError: this user may not read it.
        """
        if number not in self._damage:
            offset, length, _, sha256 = self.groups[number]
            try:
                read_range(self.path, (offset, length), sha256)
                self._damage[number] = ""
            except CorruptFile as error:
                self._damage[number] = str(error)
        return self._damage[number]

    def source(self) -> Any:
        """What Polars reads: the file, or its content where the footer is damaged or the name is no UTF-8."""
        end = self.size
        with self.path.open("rb") as file:
            file.seek(end)
            # One byte more: a file that goes on behind its footer is not what was packed.
            intact = file.read(len(self.footer) + 1) == self.footer
        try:
            name = str(self.path).encode().decode()
        except UnicodeEncodeError:
            intact = False
        # A file that was cut off keeps its offsets. Damaged groups are not read.
        return name if intact else read_bytes(self.path)[:end].ljust(end, b"\0") + self.footer

    def scan(self, schema: pl.Schema, positions: Sequence[int], names: Collection[str]) -> pl.LazyFrame:
        """The rows of these stretches in order. No group is read that holds none of them.

        Args:
            schema: of the file.
            positions: of the stretches, all of them intact.
            names: of these stretches.
        """
        file = pl.scan_parquet(
            # glob: a star in the path of a store is meant as it is.
            self.source(),
            schema=schema,
            missing_columns="insert",
            extra_columns="ignore",
            glob=False,
        )
        if len(positions) == len(self.rows):
            return file
        runs: list[list[int]] = []
        for number in sorted({number for position in positions for number in self.groups_of(position)}):
            if runs and runs[-1][1] == number:
                runs[-1][1] += 1
            else:
                runs.append([number, number + 1])
        starts = self.group_starts
        parts = [file.slice(starts[first], starts[end] - starts[first]) for first, end in runs]
        rows = pl.concat(parts) if parts else pl.LazyFrame(schema=schema)
        return rows.filter(pl.col("stretch").is_in(list(names)))


@dataclass
class Pack:
    """A pack as its index describes it.

    Attributes:
        folder: of the pack.
        stretches: trajectory and name of each.
        tables: its files by table, including ``records``.
        holds: trajectory -> the positions of its stretches.
    """

    folder: Path
    stretches: Sequence[tuple[str, str]]
    tables: Mapping[str, PackedTable]
    holds: dict[str, list[int]] = field(default_factory=dict)
    _window: tuple[int, dict[int, dict[str, pl.DataFrame]]] | None = None

    @classmethod
    def of_index(cls, folder: Path, index: Json) -> "Pack":
        """Return the pack that an index describes."""
        tables = {
            table: PackedTable(
                folder / f"{Path(table).name}.parquet", rows, [tuple(group) for group in groups], b64decode(footer)
            )
            for table, (rows, groups, footer) in index["tables"].items()
        }
        pack = cls(folder, [(trajectory, name) for trajectory, name in index["stretches"]], tables)
        for position, (trajectory, _) in enumerate(pack.stretches):
            pack.holds.setdefault(trajectory, []).append(position)
        return pack

    def to_index(self) -> Json:
        """What ``of_index`` reads."""
        return {
            "stretches": [list(stretch) for stretch in self.stretches],
            "tables": {
                name: [list(table.rows), [list(group) for group in table.groups], b64encode(table.footer).decode()]
                for name, table in self.tables.items()
            },
        }

    @cached_property
    def is_known(self) -> bool:
        """Whether this lnlab knows every table and column: what a newer one wrote is never written again."""
        return all(
            name in (RECORDS, *WRITTEN_BY_WORKERS)
            and pl.read_parquet_schema(BytesIO(table.footer)).items() <= packed_schema(name).items()
            for name, table in self.tables.items()
        )

    @property
    def length(self) -> int:
        """Bytes of its tables."""
        return sum(table.length for table in self.tables.values())

    @property
    def is_small(self) -> bool:
        """Whether it is joined with others, once there are many."""
        rows = sum(table.row_starts[-1] for table in self.tables.values())
        is_light = rows + RECORD_WEIGHT * len(self.stretches) < FULL_PACK // 2 and self.length < _FULL_BYTES // 2
        return is_light and self.is_known

    def read(self, trajectories: Collection[str]) -> tuple[list[Stretch], dict[str, list[str]]]:
        """The stretches of these trajectories, and for each the sentences on what of it is damaged.

        Raises:
            PackReplaced: the pack is gone.
            StoreError: this user may not read it.
        """
        damaged: dict[str, list[str]] = {}
        intact = []
        for position in sorted(p for trajectory in trajectories for p in self.holds.get(trajectory, ())):
            if sentences := self._damage(position):
                damaged.setdefault(self.stretches[position][0], []).extend(sentences)
            else:
                intact.append(position)
        try:
            rows = self.scan(RECORDS, intact).collect()
        except FileNotFoundError as error:
            raise PackReplaced from error
        except OSError as error:
            raise as_store_error("read", self.folder, error) from error
        by_stretch = {(row["trajectory"], row["stretch"]): row for row in rows.iter_rows(named=True)}
        root = self.folder.parent.parent
        stretches = []
        for position in intact:
            trajectory, name = self.stretches[position]
            row = by_stretch[trajectory, name]
            measurements = tuple(row["measurements"])
            record = Record(
                folder=trajectory_folder(root, trajectory) / name,
                trajectory=trajectory,
                first_step=row["first_step"],
                steps=row["steps"],
                asked=measurements if row["asked"] is None else tuple(row["asked"]),
                measurements=measurements,
                outcome=json.loads(row["outcome"]),
                files=json.loads(row["files"]),
                thinned=tuple(row["thinned"] or ()),
            )
            stretches.append(Stretch(record, files=None, output=row["output"] or b"", pack=self, position=position))
        return stretches, {trajectory: list(dict.fromkeys(sentences)) for trajectory, sentences in damaged.items()}

    def _damage(self, position: int) -> list[str]:
        """A sentence for each damaged group of rows without which a stretch is not whole."""
        sentences = [
            sentence
            for table in self.tables.values()
            for number in table.groups_of(position)
            if (sentence := table.damage(number))
        ]
        if sentences and not self.folder.is_dir():
            raise PackReplaced
        return sentences

    def scan(self, table: str, positions: Sequence[int]) -> pl.LazyFrame:
        """The rows of intact stretches at these positions, in order: ``trajectory stretch`` and those of the table."""
        if table not in self.tables or not positions:
            return pl.LazyFrame(schema=packed_schema(table))
        names = {self.stretches[position][1] for position in positions}
        return self.tables[table].scan(packed_schema(table), positions, names)

    def tables_at(self, position: int, tables: Iterable[str]) -> dict[str, pl.DataFrame]:
        """The rows of one intact stretch by table. Those of its neighbours are read with it and kept.

        Raises:
            FileNotFoundError: the pack is gone.
        """
        number = position // _WINDOW
        if self._window is None or self._window[0] != number:
            end = min((number + 1) * _WINDOW, len(self.stretches))
            positions = [p for p in range(number * _WINDOW, end) if not self._damage(p)]
            by_position: dict[int, dict[str, pl.DataFrame]] = {p: {} for p in positions}
            for name, table in self.tables.items():
                if name in WRITTEN_BY_WORKERS:  # a newer lnlab may have written others
                    rows = self.scan(name, positions).select(table_schema(name).names()).collect()
                    start = 0
                    for p in positions:
                        by_position[p][name] = rows.slice(start, table.rows[p])
                        start += table.rows[p]
            self._window = number, by_position
        return {table: self._window[1][position].get(table, frame(table, [])) for table in tables}

    def sizes(self) -> dict[str, float]:
        """Trajectory -> its share of the bytes, by the number of its rows."""
        sizes: dict[str, float] = {}
        for table in self.tables.values():
            share = table.length / table.row_starts[-1]
            for (trajectory, _), rows in zip(self.stretches, table.rows, strict=True):
                sizes[trajectory] = sizes.get(trajectory, 0) + share * rows
        return sizes


@dataclass
class Packs:
    """All packs of a store.

    Attributes:
        root: the store.
        damaged: one sentence for each pack of which neither index is intact.
    """

    root: Path
    damaged: dict[str, str] = field(default_factory=dict)
    _packs: dict[str, Pack] = field(default_factory=dict)

    def current(self) -> list[Pack]:
        """The packs that lie in the store now, by name."""
        try:
            with os.scandir(self.root / PACKS_FOLDER) as entries:
                names = {entry.name for entry in entries if not entry.name.startswith(HIDDEN_PREFIX)}
        except (FileNotFoundError, NotADirectoryError):
            names = set()
        for name in self._packs.keys() - names:
            del self._packs[name]
        for name in sorted(names - self._packs.keys() - self.damaged.keys()):
            try:
                self._packs[name] = read_index(self.root / PACKS_FOLDER / name)
            except CorruptFile as error:
                # Else it was replaced between the listing and the reading.
                if (self.root / PACKS_FOLDER / name).is_dir():
                    self.damaged[name] = str(error)
        return [self._packs[name] for name in sorted(self._packs)]

    def require_whole(self) -> None:
        """Refuse packs that are not what their indices say, byte for byte.

        Raises:
            CorruptFile: one is not.
            StoreError: this user may not read it.
        """
        current = self.current()
        damaged = list(self.damaged.values())
        for table in (table for pack in current for table in pack.tables.values()):
            if table.path.read_bytes()[table.size :] != table.footer:
                damaged.append(f"{table.path} is not as its index says")
            damaged += filter(None, (table.damage(number) for number in range(len(table.groups))))
        if damaged:
            raise CorruptFile(damaged[0])

    def trajectories(self) -> set[str]:
        """Keys of all trajectories of which a pack holds something."""
        return {key for pack in self.current() for key in pack.holds}

    def places(self) -> dict[str, tuple[str, int]]:
        """Where each trajectory first occurs, as a sort key: what lies together is then read together."""
        places: dict[str, tuple[str, int]] = {}
        for name, pack in sorted(self._packs.items(), reverse=True):
            places |= {trajectory: (name, positions[0]) for trajectory, positions in pack.holds.items()}
        return places

    def read(self, trajectories: Collection[str]) -> tuple[list[Stretch], dict[str, list[str]]]:
        """The stretches of these trajectories, each once, and for each the sentences on what of it is damaged.

        Raises:
            StoreError: this user may not read them.
        """
        while True:
            stretches: dict[tuple[str, str], Stretch] = {}
            damaged: dict[str, list[str]] = {}
            try:
                for pack in self.current():
                    wanted = [key for key in trajectories if key in pack.holds]
                    found, sentences = pack.read(wanted) if wanted else ([], {})
                    stretches |= {(each.record.trajectory, each.record.folder.name): each for each in found}
                    for trajectory, of_pack in sentences.items():
                        damaged.setdefault(trajectory, []).extend(of_pack)
            except PackReplaced:
                self._packs.clear()  # with what was found intact before
                continue
            return list(stretches.values()), damaged


def read_index(folder: Path) -> Pack:
    """What a pack holds, from whichever index is intact.

    Raises:
        CorruptFile: neither is.
        StoreError: this user may not read it.
    """
    try:
        return _pack_of(folder, folder / INDEX_FILE)
    except CorruptFile:
        return _pack_of(folder, folder / INDEX_COPY_FILE)


def _pack_of(folder: Path, path: Path) -> Pack:
    index = from_checksummed_json(read_bytes(path), path)
    with well_formed(path):
        return Pack.of_index(folder, index)
