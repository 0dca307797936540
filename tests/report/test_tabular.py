"""Tables for readers are rounded, tables for machines are exact."""

import io
import math

import polars as pl
import pytest

from lnlab.report.table import MAX_SHOWN_ROWS, csv_bytes, format_cells, reader_grid
from lnlab.tables import smallest_parquet

ROWS = pl.DataFrame(
    {
        "series": ["Post-LN", "=1+1"],
        "x": [1.0, 2.0],
        "estimate": [0.1 + 0.2, 7.5123],
        "low": [None, 7.22],
        "high": [None, 7.79],
    }
)
HEADINGS = {"series": "variant", "x": "layer", "estimate": "norm", "low": "95 % low", "high": "95 % high"}


def test_cells_are_rounded_as_their_interval_allows():
    first, second = format_cells(ROWS, HEADINGS)
    assert [text for text, _ in first] == ["Post-LN", "1", "0.300", "–", "–"]
    assert [text for text, _ in second] == ["=1+1", "2", "7.51", "7.22", "7.79"]
    assert [numeric for _, numeric in second] == [False, True, True, True, True]


def test_csv_reads_back_as_numbers_of_nine_digits_and_harmless_text():
    back = pl.read_csv(io.BytesIO(csv_bytes(ROWS, HEADINGS)))
    assert back.columns == list(HEADINGS.values())
    assert back["norm"].to_list() == [0.3, 7.5123], "0.1 + 0.2 ends in another bit than 0.3"
    assert back["variant"].to_list() == ["Post-LN", "'=1+1"]


def test_the_header_of_a_csv_is_harmless_too_and_names_each_column_once():
    headings = {"series": "=1+1", "x": "\x1b[31m", "estimate": "95 % low", "low": "95 % low", "high": "95 % low (2)"}
    back = pl.read_csv(io.BytesIO(csv_bytes(ROWS, headings)))
    assert back.columns == ["'=1+1", r"\x1b[31m", "95 % low", "95 % low (2)", "95 % low (2) (2)"]
    assert back["95 % low (2)"].to_list() == [None, 7.22]


@pytest.mark.parametrize("text", ["=1", "+1", "-1", "@a", "\t=1", "\r=1", "\n=1", "＝1", "＋1", "－1", "＠a"])
def test_no_text_of_a_csv_begins_a_formula(text):
    back = pl.read_csv(io.BytesIO(csv_bytes(pl.DataFrame({"a": [text]}), {"a": text})))
    assert {back.columns[0][0], back.item()[0]} == {"'"}


def test_numbers_that_are_not_finite_are_written_and_not_lost():
    rows = pl.DataFrame({"estimate": [math.nan, math.inf, None], "low": [None] * 3, "high": [None] * 3})
    assert [c[0][0] for c in format_cells(rows, {"estimate": "e"})] == ["not a number", "∞", "–"]
    assert csv_bytes(rows, {"estimate": "e"}) == b"e\nNaN\ninf\n\n"


def test_a_long_table_says_how_much_it_shows():
    rows = pl.DataFrame({"x": range(MAX_SHOWN_ROWS + 1)})
    assert len(reader_grid(rows, {"x": "x"}, "Long.").rows) == MAX_SHOWN_ROWS
    assert (
        reader_grid(rows, {"x": "x"}, "Long.").caption
        == f"Long. The first {MAX_SHOWN_ROWS} of {MAX_SHOWN_ROWS + 1} rows."
    )
    assert reader_grid(rows.head(3), {"x": "x"}, "Short.").caption == "Short."


def test_parquet_keeps_nan_apart_from_null_and_its_bytes():
    rows = pl.DataFrame({"x": [math.nan, None, 1.0]})
    assert smallest_parquet(rows) == smallest_parquet(rows)
    back = pl.read_parquet(io.BytesIO(smallest_parquet(rows)))["x"]
    assert math.isnan(back[0])
    assert back[1] is None


@pytest.mark.parametrize("value", [1e300, -1e-300])
def test_extreme_numbers_fit_a_cell(value):
    rows = pl.DataFrame({"estimate": [value], "low": [value], "high": [value]})
    ((cell, *_),) = format_cells(rows, {"estimate": "e"})
    assert len(cell[0]) < 20


def test_equal_tables_have_equal_bytes_however_their_rows_lie_in_memory():
    whole = pl.DataFrame({"text": [f"a setting, number {n}" for n in range(1_000)]})
    parts = pl.concat([whole.head(400), whole.tail(600)], rechunk=False)
    assert parts.n_chunks() > whole.n_chunks()
    assert smallest_parquet(parts) == smallest_parquet(whole)


@pytest.mark.parametrize("repeats", [1, 400])
def test_of_two_compressions_the_smaller_is_taken(repeats):
    rows = pl.DataFrame({"run": [f"{n * 2654435761 % 2**32:08x}" for n in range(500)] * repeats})
    sizes = []
    for how, level in (("zstd", 22), ("brotli", 11)):
        buffer = io.BytesIO()
        rows.write_parquet(buffer, compression=how, compression_level=level, statistics=False)
        sizes.append(len(buffer.getvalue()))
    assert len(smallest_parquet(rows)) == min(sizes)
