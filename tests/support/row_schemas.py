"""The columns of rows as results have them."""

import polars as pl

from lnlab.tables import table_schema

_KEYS = {"run": pl.String(), "variant": pl.String(), "seed": pl.Int64(), "step": pl.Int64()}


def row_schema(table: str) -> pl.Schema:
    """The columns of a table of results, ``run variant seed step`` in front."""
    return pl.Schema({**_KEYS, **table_schema(table)})
