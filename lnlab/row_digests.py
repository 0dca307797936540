"""The digest of the rows of a frame, which no version of a library changes.

It covers of every column its name, which rows are null, and the values as bytes (float64 and int64 little-endian, text
as UTF-8 with its lengths).
"""

import hashlib
from collections.abc import Iterator

import numpy as np
import polars as pl


def digest_of_rows(rows: pl.DataFrame) -> str:
    """The SHA-256 of the rows of a frame, whatever their order: 64 hexadecimal digits."""
    hasher = hashlib.sha256()
    ordered = rows.sort(rows.columns, nulls_last=False) if rows.columns else rows
    for name in sorted(ordered.columns):
        for part in _column_bytes(ordered[name]):
            hasher.update(part)
    return hasher.hexdigest()


def _column_bytes(column: pl.Series) -> Iterator[bytes]:
    """Nulls and numbers with a fixed width, texts end to end with where each begins."""
    yield f"{column.name}\n".encode()
    yield column.is_null().to_numpy().astype("u1").tobytes()
    if column.dtype == pl.String:
        filled = column.fill_null("")
        lengths = filled.str.len_bytes().to_numpy().astype("<i8")
        yield np.concatenate([[0], np.cumsum(lengths)]).astype("<i8").tobytes()
        yield (filled.str.join("")[0] or "").encode()
    elif column.dtype.is_float():
        yield column.cast(pl.Float64).fill_null(0.0).fill_nan(float("nan")).to_numpy().astype("<f8").tobytes()
    else:
        yield column.cast(pl.Int64).fill_null(0).to_numpy().astype("<i8").tobytes()
