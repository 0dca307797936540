"""The folder of one recorded run: ``run.json``, ``tail.jsonl`` and ``part-N.parquet``.

``run.json`` says what the run is and how it ended, and is replaced whole. ``tail.jsonl`` has one record a line, which
is appended and flushed: it survives a kill of the process, and of a power cut the parts survive. From time to time the
lines of the tail become a part, which appears by its rename. Records are numbered, so that one that is in a part and
still in the tail counts once.

A run that resumes drops what was recorded after its checkpoint: ``cuts`` of ``run.json`` say so, ``[number, step]``
for records up to that number and after that step, so that no file of rows is ever written again.

One process writes, and holds a lock on ``lock`` while it does. The children that it forks do not hold it.
"""

import errno
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import IO, Any
from weakref import WeakSet, finalize

import polars as pl
from filelock import lock_descriptor

from lnlab.errors import LabError
from lnlab.files import replacing
from lnlab.issues import Issue
from lnlab.keys import Json
from lnlab.tables import WRITTEN_BY_WORKERS, Row, encode_parquet, table_schema

FORMAT = 1
RUN_FILE, TAIL_FILE, LOCK_FILE, WEIGHTS_FILE = "run.json", "tail.jsonl", "lock", "initial.safetensors"
ROW_TABLES = tuple(table for table in WRITTEN_BY_WORKERS if table != "outcomes")
PART_BYTES = 1_000_000
"""Of the tail, above which it becomes a part."""
_ADDRESS = ("stack", "layer", "sublayer", "tensor")
_LOCKS: "WeakSet[IO[bytes]]" = WeakSet()
"""The files on which this process holds locks."""


def _close_locks() -> None:
    for file in _LOCKS:
        file.close()


if hasattr(os, "register_at_fork"):  # a child that lives longer, as a worker of a loader, keeps no lock alive
    os.register_at_fork(after_in_child=_close_locks)

Block = Mapping[str, Json]
"""Rows of one source at one step: ``source table columns``. A column is a list, or the one value of all rows.
``addresses`` names a list of sites in ``run.json`` whose coordinates are further columns."""


def block_of_rows(source: str, table: str, rows: Sequence[Row]) -> Block:
    """Rows by their columns. A column that is the same in all rows is one value."""
    names = dict.fromkeys(name for row in rows for name in row)
    columns: dict[str, Json] = {}
    for name in names:
        values = [row.get(name) for row in rows]
        same = all(type(value) is type(values[0]) and value == values[0] for value in values)
        columns[name] = values[0] if same and not isinstance(values[0], list) else values
    return {"source": source, "table": table, "columns": columns}


class RunFolder:
    """Reads and writes the folder of a run.

    Attributes:
        path: of the folder.
        number: of the last record.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.number = 0
        self._size = 0
        self._stored = 0
        self._lock: IO[bytes] | None = None

    @property
    def holds_run(self) -> bool:
        """Whether there is a run in it."""
        return (self.path / RUN_FILE).is_file()

    def facts(self) -> dict[str, Json]:
        """What ``run.json`` says.

        Raises:
            LabError: it cannot be read, or is of a later format.
        """
        path = self.path / RUN_FILE
        try:
            facts: dict[str, Json] = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise LabError(
                Issue("unreadable", str(path), "is no record of a run", "name a folder of lnlab.Recorder")
            ) from error
        if facts.get("format") != FORMAT:
            what = f"is of format {facts.get('format')}, and this lnlab reads {FORMAT}"
            raise LabError(Issue("unreadable", str(path), what, "update lnlab"))
        return facts

    def write_facts(self, facts: Mapping[str, Json]) -> None:
        """Replace ``run.json``.

        Raises:
            LabError: it cannot be written.
        """
        try:
            with replacing(self.path / RUN_FILE) as file:
                file.write(json.dumps({"format": FORMAT, **facts}, indent=1, ensure_ascii=False).encode())
        except OSError as error:
            raise self._unwritable(error) from error

    def lock(self) -> None:
        """Let this process alone write, until ``release``. What the folder says is read after this.

        Raises:
            LabError: the folder cannot be made, or another process records into it.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock = (self.path / LOCK_FILE).open("ab")
            _LOCKS.add(self._lock)
            finalize(self, self._lock.close)  # of a run that nobody closes
            alone = True
            with suppress(OSError):  # a file system without locks
                alone = lock_descriptor(self._lock.fileno(), blocking=False)
            if not alone:
                self.release()
                what = "another process records into this folder"
                remedy = "end it, or give another folder; of several ranks, record after init_process_group"
                raise LabError(Issue("unwritable", str(self.path), what, remedy))
        except OSError as error:
            raise self._unwritable(error) from error

    def begin(self, after: int = 0) -> None:
        """Make the folder ready for further records: a line that a kill has cut is taken away.

        Args:
            after: further records have larger numbers than this one.

        Raises:
            LabError: the folder cannot be written.
        """
        tail = self.path / TAIL_FILE
        try:
            with tail.open("ab") as file:
                content = tail.read_bytes()
                file.truncate(content.rfind(b"\n") + 1)
                self._size = file.tell()
        except OSError as error:
            raise self._unwritable(error) from error
        self._stored = _last_number(self._parts())
        self.number = max([after, self._stored, *(record["number"] for record in self._tail_records())])

    def release(self) -> None:
        """Let another process write."""
        if self._lock is not None:
            self._lock.close()

    def append(self, step: int, blocks: Sequence[Block], addresses: Mapping[str, Json]) -> None:
        """Write one record, whole once this returns. Nothing of it is there if it raises.

        Args:
            step: of the record.
            blocks: of the record.
            addresses: that blocks of the tail name.

        Raises:
            LabError: the disk is full, or the folder was removed or replaced.
        """
        self.number += 1  # first, so that a call which is interrupted after its line leaves its number to no other
        record = {"number": self.number, "step": step, "blocks": blocks}
        line = json.dumps(record, separators=(",", ":")).encode() + b"\n"
        try:
            if self._lock is not None and not os.path.samestat(
                os.fstat(self._lock.fileno()), (self.path / LOCK_FILE).stat()
            ):
                raise FileNotFoundError("another folder has its place")
            with (self.path / TAIL_FILE).open("r+b", buffering=0) as file:  # which makes none where it was removed
                end = file.seek(0, os.SEEK_END)
                try:
                    written = 0
                    while written < len(line):  # a full disk takes a part, and refuses the next one
                        written += file.write(line[written:]) or 0
                except BaseException:
                    file.truncate(end)
                    raise
        except OSError as error:
            raise self._unwritable(error) from error
        self._size += len(line)
        if self._size > PART_BYTES:
            with suppress(OSError):  # the lines are in the tail, and become a part when as many more have come
                self.compact(addresses)
            self._size = 0

    def compact(self, addresses: Mapping[str, Json]) -> None:
        """Make a part of the lines of the tail, whose blocks name ``addresses``.

        Raises:
            OSError: it cannot be written. The tail is then as it was.
        """
        # A kill may have come between the two steps below: what is in a part already is not put into another.
        records = [record for record in self._tail_records() if record["number"] > self._stored]
        rows = _rows_of_records(records, addresses)
        if not rows.is_empty():
            last = max((int(path.stem.removeprefix("part-")) for path in self._part_paths()), default=0)
            with replacing(self.path / f"part-{last + 1}.parquet") as file:
                file.write(encode_parquet(rows))
            self._stored = self.number
        with replacing(self.path / TAIL_FILE):
            self._size = 0

    def _unwritable(self, error: OSError) -> LabError:
        what = f"cannot be written: {error.strerror or error}"
        remedy = "make room" if error.errno in (errno.ENOSPC, errno.EDQUOT) else "name another folder"
        return LabError(Issue("unwritable", str(self.path), what, remedy))

    def rows(self, facts: Mapping[str, Json]) -> pl.DataFrame:
        """Every row that counts: ``number step source table`` and the columns of all tables, in the order recorded."""
        parts = self._parts()
        stored = _last_number(parts)
        records = [record for record in self._tail_records() if record["number"] > stored]
        rows = pl.concat([*parts, _rows_of_records(records, facts.get("addresses", {}))], how="diagonal_relaxed")
        for number, step in facts.get("cuts", ()):
            rows = rows.filter((pl.col("number") > number) | (pl.col("step") <= step))
        rows = rows.filter(pl.col("number") == pl.col("number").max().over("step", "source"))
        of_probe = rows.filter(pl.col("source") == "update_size")["step"].unique()  # it leaves rounding noise out
        return rows.filter(~(pl.col("source").eq("hook update_to_weight") & pl.col("step").is_in(of_probe.implode())))

    def _part_paths(self) -> list[Path]:
        # By length first, as part-10 comes after part-9.
        return sorted(self.path.glob("part-*.parquet"), key=lambda path: (len(path.name), path.name))

    def _parts(self) -> list[pl.DataFrame]:
        parts = []
        for path in self._part_paths():
            try:
                parts.append(pl.read_parquet(BytesIO(path.read_bytes())))
            except (OSError, pl.exceptions.PolarsError) as error:
                remedy = "remove it: its own rows alone are lost"
                raise LabError(Issue("unreadable", str(path), "is a part that cannot be read", remedy)) from error
        return parts

    def _tail_records(self) -> Iterator[dict[str, Json]]:
        try:
            lines = (self.path / TAIL_FILE).read_bytes().split(b"\n")
        except FileNotFoundError:
            return
        for line in lines[:-1]:  # the last is empty, or was cut by a kill
            try:
                yield json.loads(line)
            except ValueError:
                continue  # a line that a power cut has damaged


def _last_number(parts: Sequence[pl.DataFrame]) -> int:
    return max((int(part["number"].max() or 0) for part in parts), default=0)  # type: ignore[arg-type]


def tables_of_rows(rows: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Each table that has rows, its own columns and ``step`` in front."""
    tables = {}
    for table in rows["table"].unique(maintain_order=True):
        schema = pl.Schema({"step": pl.Int64(), **table_schema(table)})
        present = rows.filter(pl.col("table") == table).rename({"source": "measurement"})
        lacking = [pl.lit(None).alias(name) for name in schema if name not in present.columns]
        tables[table] = present.with_columns(lacking).select(list(schema)).cast(schema)
    return tables


def _rows_of_records(
    records: Iterator[dict[str, Json]] | Sequence[dict[str, Json]], addresses: Mapping[str, Json]
) -> pl.DataFrame:
    """The rows of all records in one frame, whose column ``table`` says to which table a row belongs.

    A block that names ``addresses`` in place of its site columns gets them from there.
    """
    columns: dict[str, dict[str, list[Any]]] = {}
    for record in records:
        for block in record["blocks"]:
            own = dict(block["columns"])
            if "addresses" in block:
                own |= dict(zip(_ADDRESS, map(list, zip(*addresses[block["addresses"]], strict=True)), strict=True))
            length = max((len(value) for value in own.values() if isinstance(value, list)), default=1)
            own |= {"number": record["number"], "step": record["step"], "source": block["source"]}
            table = columns.setdefault(block["table"], {})
            known = len(next(iter(table.values()), ()))
            for name in {*table, *own}:
                value = own.get(name)
                table.setdefault(name, [None] * known).extend(value if isinstance(value, list) else [value] * length)
    keys: dict[str, Any] = {"number": pl.Int64, "step": pl.Int64, "source": pl.String, "table": pl.String}
    frames = [pl.DataFrame(schema=keys)]
    for name, values in columns.items():
        schema: dict[str, Any] = {**{k: v for k, v in keys.items() if k != "table"}, **table_schema(name)}
        known_columns = {column: list_ for column, list_ in values.items() if column in schema}
        frame = pl.DataFrame(known_columns, {column: schema[column] for column in known_columns}, strict=False)
        frames.append(frame.with_columns(table=pl.lit(name)))
    return pl.concat(frames, how="diagonal_relaxed")
