"""Round the numbers of files to nine significant digits, correctly in decimal, so that every machine writes the same.

Logarithms, exponentials and sums end in another last bit on processors of other kinds, so that full precision would
make the same report other bytes. Nine digits tell every float32 from its neighbours and hide such bits, but for one
number in ten million that lies on the edge between two roundings. Measured rows (``data/``) are never rounded.
"""

import polars as pl

from lnlab.keys import Json

FILE_DIGITS = 9
"""Significant digits of a number in a table, a drawing or a lock."""


def rounded(value: float) -> float:
    """The float nearest to the decimal of ``FILE_DIGITS`` digits. Infinities and NaN stay.

    >>> rounded(0.1 + 0.2), rounded(-12345678901.0), rounded(1e-300 / 3)
    (0.3, -12345678900.0, 3.33333333e-301)
    """
    return float(f"{value:.{FILE_DIGITS - 1}e}")


def rounded_frame(rows: pl.DataFrame) -> pl.DataFrame:
    """A frame with the numbers of all columns of floats rounded."""
    columns = [column for column in rows.get_columns() if column.dtype.is_float()]
    return rows.with_columns(
        pl.Series(column.name, [None if value is None else rounded(value) for value in column], column.dtype)
        for column in columns
    )


def rounded_json(value: Json) -> Json:
    """Round every float in plain values."""
    if isinstance(value, float):
        return rounded(value)
    if isinstance(value, dict):
        return {key: rounded_json(inner) for key, inner in value.items()}
    return [rounded_json(inner) for inner in value] if isinstance(value, list | tuple) else value
