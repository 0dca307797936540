"""Digests of rows, which no version of a library changes: of a frame, and of each variant in a table.

A digest covers of every column its name, which rows are null, and the values as bytes (float64 and int64 little-endian,
text as UTF-8 with its lengths). The table is sorted by variant once and cut, so a million rows cost a second.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import polars as pl

DIGITS = 16
"""Hexadecimal digits of a digest of rows: 64 bits tell apart what accidents make. Files have all 64 digits."""
_VARIANT = "_variant"


@dataclass(frozen=True)
class RowDigest:
    """How many rows of a table belong to a variant, and their digest. A lock writes it as ``920 1f0c...``."""

    rows: int
    digest: str

    def __str__(self) -> str:
        return f"{self.rows} {self.digest}"


def digest_of_rows(rows: pl.DataFrame) -> str:
    """The SHA-256 of the rows of a frame, whatever their order: 64 hexadecimal digits."""
    hasher = hashlib.sha256()
    ordered = rows.sort(rows.columns, nulls_last=False) if rows.columns else rows
    for name in sorted(ordered.columns):
        for part in _ColumnBytes.of(ordered[name]).slices(0, ordered.height):
            hasher.update(part)
    return hasher.hexdigest()


def digests_by_variant(table: pl.DataFrame, variants: pl.Series) -> Mapping[str, RowDigest]:
    """The digest of the rows of each variant, in their order.

    Args:
        table: any table.
        variants: the variant of each of its rows. Null counts as the variant "".
    """
    if table.is_empty():
        return {}
    ordered = table.with_columns(variants.fill_null("").alias(_VARIANT)).sort(_VARIANT, maintain_order=True)
    names = ordered[_VARIANT]
    starts = [*np.flatnonzero((names != names.shift(1)).fill_null(value=True).to_numpy()).tolist(), ordered.height]
    columns = [_ColumnBytes.of(ordered[name]) for name in sorted(table.columns)]
    digests = {}
    for start, end in pairwise(starts):
        hasher = hashlib.sha256()
        for column in columns:
            for part in column.slices(start, end):
                hasher.update(part)
        digests[names[start]] = RowDigest(end - start, hasher.hexdigest()[:DIGITS])
    return digests


@dataclass(frozen=True)
class _ColumnBytes:
    """A column as bytes: nulls and numbers with a fixed width, texts end to end with where each begins."""

    name: bytes
    nulls: np.ndarray
    numbers: np.ndarray
    texts: bytes

    @classmethod
    def of(cls, column: pl.Series) -> "_ColumnBytes":
        name = f"{column.name}\n".encode()
        nulls = column.is_null().to_numpy().astype("u1")
        if column.dtype == pl.String:
            filled = column.fill_null("")
            lengths = filled.str.len_bytes().to_numpy().astype("<i8")
            texts = (filled.str.join("")[0] or "").encode()
            return cls(name, nulls, np.concatenate([[0], np.cumsum(lengths)]).astype("<i8"), texts)
        if column.dtype.is_float():
            numbers = column.cast(pl.Float64).fill_null(0.0).fill_nan(float("nan")).to_numpy().astype("<f8")
        else:
            numbers = column.cast(pl.Int64).fill_null(0).to_numpy().astype("<i8")
        return cls(name, nulls, numbers, b"")

    def slices(self, start: int, end: int) -> Iterator[bytes]:
        """The bytes of some rows."""
        yield self.name
        yield self.nulls[start:end].tobytes()
        if self.numbers.size == self.nulls.size:
            yield self.numbers[start:end].tobytes()
        else:  # texts: where they begin, counted from the first
            offsets = self.numbers[start : end + 1]
            yield (offsets - offsets[0]).tobytes()
            yield self.texts[int(offsets[0]) : int(offsets[-1])]
