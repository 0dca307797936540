"""Whether a stretch of work from elsewhere matches its record: its rows are those that the record names."""

import re
from collections.abc import Callable, Mapping
from io import BytesIO
from typing import TYPE_CHECKING

import polars as pl

from lnlab.keys import digest_bytes
from lnlab.store.parquet_sizes import ParquetSizes, Unsized, parquet_sizes
from lnlab.store.records.checksummed import CorruptFile, from_checksummed_json
from lnlab.store.records.coverage import COMPLETE_STATUSES
from lnlab.store.records.layout import RECORD_FILE
from lnlab.store.records.record import Record
from lnlab.store.segments import KEY
from lnlab.store.stretch import Stretch
from lnlab.tables import table_schema

if TYPE_CHECKING:
    from pathlib import Path

LONGEST_TEXT = 4_000
_SHA256 = re.compile(r"[0-9a-f]{64}")
_UNREADABLE = (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError)
_FIELDS = {"trajectory": str, "first_step": int, "steps": int, "asked": list, "measurements": list} | {
    "outcome": dict,
    "files": dict,
}


class Refused(Exception):
    """A unit does not match its own record. The message says where."""


def check_stretch(folder: "Path", contents: Mapping[str, bytes], count: Callable[[int], None]) -> Stretch:
    """A stretch of work, once its rows are those that its record says.

    Args:
        folder: where it would lie in the store.
        contents: its files by name.
        count: called with the bytes that the rows of a file take in memory, before they are there.

    Raises:
        Refused: something in it is not what it should be.
    """
    where = f"{folder.parent.name[:16]}/{folder.name}"
    try:
        record = _record(folder, contents, where)
    except (CorruptFile, *_UNREADABLE) as error:
        raise Refused(f"{where}: {RECORD_FILE} is missing or altered") from error
    if record.outcome["status"] not in COMPLETE_STATUSES:
        raise Refused(f"{where}: it ended as {str(record.outcome['status'])[:40]}, which is no result")
    tables = {name: content for name, content in contents.items() if name != RECORD_FILE}
    if tables.keys() != record.files.keys() or "outcomes.parquet" not in tables:
        raise Refused(f"{where}: its files are not those of its record")
    for name, content in tables.items():
        if digest_bytes(content) != record.files[name]:
            raise Refused(f"{where}/{name}: its rows are not those of its record")
        _check_rows(f"{where}/{name}", name.removesuffix(".parquet"), content, record, count)
    return Stretch(record, tables)


def _record(folder: "Path", contents: Mapping[str, bytes], where: str) -> Record:
    fields = from_checksummed_json(contents[RECORD_FILE], folder / RECORD_FILE)
    thinned = fields.pop("thinned", [])
    if not isinstance(thinned, list) or not all(isinstance(name, str) for name in thinned):
        raise Refused(f"{where}: the quantities that its record calls thinned are none")
    # An integer is meant: True would pass for one.
    if fields.keys() != _FIELDS.keys() or any(type(fields[name]) is not kind for name, kind in _FIELDS.items()):
        raise Refused(f"{where}: its record lacks a field, or has one of another type")
    keys = [(KEY, key) for key in (*fields["asked"], *fields["measurements"])]
    keys += [(_SHA256, key) for key in fields["files"].values()]
    if not all(isinstance(key, str) and pattern.fullmatch(key) for pattern, key in keys):
        raise Refused(f"{where}: a key in its record is none")
    if fields["trajectory"] != folder.parent.name or not 0 <= fields["first_step"] <= fields["steps"]:
        raise Refused(f"{where}: its record belongs to another unit, or ends before it begins")
    if int(folder.name.partition("-")[0]) != fields["first_step"]:
        raise Refused(f"{where}: its name says another first step than its record")
    outcome = fields["outcome"]
    if outcome.keys() != table_schema("outcomes").keys() or outcome["steps"] != fields["steps"]:
        raise Refused(f"{where}: its outcome is not one of this record")
    if any(len(value) > LONGEST_TEXT for value in (*outcome.values(), *thinned) if isinstance(value, str)):
        raise Refused(f"{where}: a text of its record is too long")
    lists = {name: tuple(fields[name]) for name in ("asked", "measurements")} | {"thinned": tuple(thinned)}
    return Record(folder=folder, **{**fields, **lists})


def _unfolded(table: str, sizes: ParquetSizes) -> int:
    """Bytes that the rows of a table take in memory: equal ones take none in a page, and yet their room here."""
    width = sum(16 if kind == pl.String else 8 for kind in table_schema(table).values())
    return max(sizes.unfolded, max(sizes.rows, sizes.values) * width)


def _check_rows(where: str, table: str, content: bytes, record: Record, count: Callable[[int], None]) -> None:
    """The rows of a table belong to the measurements and the trajectory of the record."""
    try:
        # Told from the headers first: a file of kilobytes may unfold to gigabytes.
        sizes = parquet_sizes(content)
    except Unsized as error:
        raise Refused(f"{where}: it cannot be read as Parquet") from error
    count(_unfolded(table, sizes))
    try:
        rows = pl.scan_parquet(BytesIO(content))
        schema = rows.collect_schema()
        expected = table_schema(table)
        if not schema.items() <= expected.items():
            raise Refused(f"{where}: its columns are not those of the table {table}")
        if rows.select(pl.len()).collect().item() > sizes.rows:
            raise Refused(f"{where}: it has more rows than its headers say")
        frame = rows.collect()
    # Over some damaged files Polars panics, which is none of its errors.
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, OverflowError) as error:
        raise Refused(f"{where}: it cannot be read as Parquet") from error
    texts = frame.select(pl.col(pl.String).str.len_bytes().max())
    if any(length is not None and length > LONGEST_TEXT for length in texts.row(0)):
        raise Refused(f"{where}: it has a text of more than {LONGEST_TEXT:,} bytes")
    for column, values in (("measurement", record.measurements), ("trajectory", (record.trajectory,))):
        if column in expected and not set(frame[column].unique() if column in frame.columns else [None]) <= set(values):
            raise Refused(f"{where}: it has rows of another {column}")
    if table != "outcomes":
        return
    # A number that is not finite is null in the record, and says nothing of the row.
    stated = {name: value for name, value in record.outcome.items() if value is not None}
    if frame.height != 1 or not stated.items() <= frame.row(0, named=True).items():
        raise Refused(f"{where}: its outcome is not that of the record")
