"""Frames as the tables of a page, of a paper and of a spreadsheet: formatted for readers, exact for machines."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from lnlab.printable import printable
from lnlab.report.cell_matrix import Matrix
from lnlab.report.rounding import rounded_frame
from lnlab.report.words.wording import format_number, format_value

MAX_SHOWN_ROWS = 50
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
Cell = tuple[str, bool]


@dataclass(frozen=True)
class Grid:
    """A table for readers. Each cell says whether it is a number, and ``file`` is the exact table beside it.

    A page shows ``view`` in its place if there is one.
    """

    caption: str
    headings: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    file: str = ""
    stem: str = ""
    view: Matrix | None = None


def reader_grid(rows: pl.DataFrame, headings: Mapping[str, str], caption: str, file: str = "", stem: str = "") -> Grid:
    """The first rows of a frame for readers. The caption says if there are more."""
    first_rows = format_cells(rows.head(MAX_SHOWN_ROWS), headings)
    more = f" The first {MAX_SHOWN_ROWS} of {rows.height:,} rows." if rows.height > MAX_SHOWN_ROWS else ""
    return Grid(caption=caption + more, headings=tuple(headings.values()), rows=first_rows, file=file, stem=stem)


def format_cells(rows: pl.DataFrame, headings: Mapping[str, str]) -> tuple[tuple[Cell, ...], ...]:
    """Format cells. An estimate and its ends get the digits that its interval leaves meaningful."""

    def cell(row: Mapping[str, Any], name: str) -> Cell:
        value = row[name]
        if name in ("estimate", "low", "high") and (value is None or isinstance(value, float)):
            return format_number(value, row.get("low"), row.get("high")), True
        if value is None:
            return "–", False
        return format_value(value), isinstance(value, int | float) and not isinstance(value, bool)

    return tuple(tuple(cell(row, name) for name in headings) for row in rows.iter_rows(named=True))


def csv_bytes(rows: pl.DataFrame, headings: Mapping[str, str]) -> bytes:
    """Every row, numbers rounded, and text as a terminal may show it.

    Text that a spreadsheet would take for a formula gets an apostrophe in front.
    """
    rows = rows.with_columns(
        pl.Series(name, [text if text is None else printable(text) for text in rows[name]], dtype=pl.String)
        for name in headings
        if rows.schema[name] == pl.String
    )
    texts = [name for name in headings if rows.schema[name] == pl.String]
    harmless = [
        pl.when(pl.col(c).str.slice(0, 1).is_in(_FORMULA)).then(pl.lit("'") + pl.col(c)).otherwise(pl.col(c)).alias(c)
        for c in texts
    ]
    table = rows.with_columns(harmless).select(pl.col(name).alias(heading) for name, heading in headings.items())
    return rounded_frame(table).write_csv().encode()


def column_count(rows: Sequence[Sequence[object]]) -> int:
    """The number of columns, the same in every row.

    Raises:
        ValueError: it is not.
    """
    widths = {len(row) for row in rows}
    if len(widths) != 1:
        raise ValueError(f"found rows of {sorted(widths)} cells, expected one width")
    return widths.pop()
