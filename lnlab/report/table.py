"""Frames as the tables of a page, of a paper and of a spreadsheet: formatted for readers, exact for machines."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from lnlab.printable import FORMULA_STARTS, printable
from lnlab.report.rounding import rounded_frame
from lnlab.report.words.wording import format_number, format_value

MAX_SHOWN_ROWS = 50
Cell = tuple[str, bool]


@dataclass(frozen=True)
class Grid:
    """A table for readers. Each cell says whether it is a number, and ``file`` is the exact table beside it."""

    caption: str
    headings: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    file: str = ""
    stem: str = ""


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

    Text that a spreadsheet would take for a formula gets an apostrophe in front. Of two columns with one heading the
    second has a number behind it.
    """
    texts = {
        name: pl.Series([text if text is None else _harmless(text) for text in rows[name]], dtype=pl.String)
        for name in headings
        if rows.schema[name] == pl.String
    }
    unique: list[str] = []
    for heading in map(_harmless, headings.values()):
        numbered = (f"{heading} ({n})" for n in range(2, len(headings) + 2))
        unique.append(next(name for name in (heading, *numbered) if name not in unique))
    columns = (texts.get(name, rows[name]).alias(heading) for name, heading in zip(headings, unique, strict=True))
    return rounded_frame(pl.DataFrame(columns)).write_csv().encode()


def _harmless(text: str) -> str:
    return f"'{printable(text)}" if text.startswith(FORMULA_STARTS) else printable(text)


def column_count(rows: Sequence[Sequence[object]]) -> int:
    """The number of columns, the same in every row.

    Raises:
        ValueError: it is not.
    """
    widths = {len(row) for row in rows}
    if len(widths) != 1:
        raise ValueError(f"found rows of {sorted(widths)} cells, expected one width")
    return widths.pop()
