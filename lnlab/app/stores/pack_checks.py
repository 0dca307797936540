"""Whether a pack from elsewhere is what a store writes: index and rows follow from its tables and records."""

import json
import re
from collections.abc import Callable, Mapping
from io import BytesIO
from typing import Any

import polars as pl

from lnlab.keys import KEY_DIGITS, canonical
from lnlab.store.packs import RECORDS, Pack, PackedTable, packed_schema
from lnlab.store.parquet_sizes import ParquetSizes, parquet_sizes
from lnlab.store.records.checksummed import CorruptFile, read_bytes
from lnlab.tables import frame, table_schema

LONGEST_TEXT = 4_000
_LONGEST_JSON = 8 * LONGEST_TEXT
_KEY = re.compile(rf"[0-9a-f]{{16,{KEY_DIGITS}}}")  # committed reports have some of 16
_STRETCH = re.compile(r"(?:0|[1-9][0-9]{0,11})-[0-9a-f]{12,24}")
_PLACE = ["trajectory", "stretch"]
_BYTES_OF_RECORD, _BYTES_OF_KEY = 2_000, 128
"""What a record and a key of a measurement take in memory at most, about."""
_UNREADABLE = (
    CorruptFile,
    pl.exceptions.PolarsError,
    pl.exceptions.PanicException,  # over some damaged files Polars panics, which is none of its errors
    *(OSError, OverflowError, KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError),
)


class Refused(Exception):
    """A pack is not what a store writes. The message says where."""


def check_pack(pack: Pack, count: Callable[[int], None]) -> None:
    """Refuse a pack that is not what a store writes.

    Args:
        pack: as its index says.
        count: called with the bytes that the rows of a table take in memory, before they are there.

    Raises:
        Refused: something in it is not what it should be.
    """
    try:
        _check(pack, count)
    except _UNREADABLE as error:
        raise Refused("is not what its index says") from error


def _check(pack: Pack, count: Callable[[int], None]) -> None:
    content, rows = _scan(RECORDS, pack.tables[RECORDS], count)
    records = rows.collect()
    stretches = list(records.select(_PLACE).iter_rows())
    if len(set(stretches)) < len(stretches) or not all(map(_is_record, records.iter_rows(named=True))):
        raise Refused("has a record that no run has")
    frame("outcomes", map(json.loads, records["outcome"]))  # fails where one has other types
    measured = records.select(*_PLACE, measurement="measurements").explode("measurement")
    tables = {RECORDS: PackedTable.of(pack.tables[RECORDS].path, [1] * len(stretches), content)}
    for name in pack.tables.keys() - tables.keys():
        content, rows = _scan(name, pack.tables[name], count)
        if "measurement" in packed_schema(name):
            found = _runs(rows, measured.columns)
            if found.join(measured, on=measured.columns, how="anti").height:
                raise Refused(f"{name}: has rows of another measurement")
        runs = _runs(rows, _PLACE)
        if runs.height > len(stretches):
            raise Refused(f"{name}: has rows of another unit")
        lengths = {(trajectory, stretch): length for length, trajectory, stretch in runs.iter_rows()}
        if list(lengths) != [stretch for stretch in stretches if stretch in lengths] or len(lengths) < runs.height:
            raise Refused(f"{name}: has rows of another unit")
        rows_of = [lengths.get(stretch, 0) for stretch in stretches]
        tables[name] = PackedTable.of(pack.tables[name].path, rows_of, content)
    # As texts, since 1, 1.0 and True are equal.
    if canonical(Pack(pack.folder, stretches, tables).to_index()) != canonical(pack.to_index()):
        raise Refused("is not what its index says")


def _runs(rows: pl.LazyFrame, columns: list[str]) -> pl.DataFrame:
    """``len`` and these columns: how many rows one after another have the same values there."""
    return rows.select(columns).collect().select(run=pl.struct(columns).rle()).unnest("run").unnest("value")


def _is_record(row: Mapping[str, Any]) -> bool:
    """Whether a row of ``records`` is as a store writes it."""
    outcome, files = json.loads(row["outcome"]), json.loads(row["files"])
    keys = (row["trajectory"], *(row["asked"] or ()), *row["measurements"])
    texts = (*(row["thinned"] or ()), *(value for value in outcome.values() if isinstance(value, str)))
    return bool(
        all(map(_KEY.fullmatch, keys))
        and _STRETCH.fullmatch(row["stretch"])
        and int(row["stretch"].partition("-")[0]) == row["first_step"] <= row["steps"]
        and outcome.keys() == table_schema("outcomes").keys()
        and (outcome["trajectory"], outcome["steps"]) == (row["trajectory"], row["steps"])
        and all(len(text) <= LONGEST_TEXT for text in texts)
        and all(isinstance(value, str) for value in files.values())
        # Nothing that JSON has no text for, such as NaN, and nothing twice.
        and (canonical(outcome), canonical(files)) == (row["outcome"], row["files"])
    )


def _in_memory(name: str, sizes: ParquetSizes) -> int:
    """Bytes that the rows of a table take in memory: equal ones take none in a page, and yet their room here."""
    width = sum(16 if kind == pl.String else 8 for kind in packed_schema(name).values())
    here = max(sizes.rows, sizes.values) * width
    if name == RECORDS:
        here = sizes.rows * _BYTES_OF_RECORD + sizes.values * _BYTES_OF_KEY
    return max(sizes.unfolded, here)


def _scan(name: str, table: PackedTable, count: Callable[[int], None]) -> tuple[bytes, pl.LazyFrame]:
    """The file of a table and its rows, every value of which has been read once."""
    content = read_bytes(table.path)
    # Told from the headers first: a file of kilobytes may unfold to gigabytes.
    sizes = parquet_sizes(content)
    count(_in_memory(name, sizes))
    rows = pl.scan_parquet(BytesIO(content))
    schema = rows.collect_schema()
    if not schema.items() <= packed_schema(name).items():
        raise Refused(f"{name}: its columns are not those of the table")
    if rows.select(pl.len()).collect().item() > sizes.rows:
        raise Refused(f"{name}: has more rows than its headers say")
    longest = _LONGEST_JSON if name == RECORDS else LONGEST_TEXT
    for column, kind in schema.items():
        value = pl.col(column).str.len_bytes() if kind == pl.String else pl.col(column).is_not_null()
        if (rows.select(value.max()).collect().item() or 0) > longest:
            raise Refused(f"{name}: has a text of more than {longest:,} bytes")
    return content, rows
