"""Tables for readers are rounded, tables for machines are exact."""

import io
import math

import polars as pl
import pytest

from lnlab.report.table import csv_bytes, format_cells
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


def test_parquet_keeps_nan_apart_from_null_and_its_bytes():
    rows = pl.DataFrame({"x": [math.nan, None, 1.0]})
    assert smallest_parquet(rows) == smallest_parquet(rows)
    back = pl.read_parquet(io.BytesIO(smallest_parquet(rows)))["x"]
    assert math.isnan(back[0])
    assert back[1] is None


def test_equal_tables_have_equal_bytes_however_their_rows_lie_in_memory():
    whole = pl.DataFrame({"text": [f"a setting, number {n}" for n in range(1_000)]})
    parts = pl.concat([whole.head(400), whole.tail(600)], rechunk=False)
    assert parts.n_chunks() > whole.n_chunks()
    assert smallest_parquet(parts) == smallest_parquet(whole)
