"""Sublayers by number: the residual branches of a stack in the order in which the stream meets them, from 1."""

import polars as pl

SUBLAYER_ORDER = ("self_attention", "cross_attention", "feed_forward")


def number_sublayers(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows at sublayers, sorted by a column ``i`` that counts the sublayers of the run's stack among the rows.

    Args:
        rows: with columns ``run step stack layer sublayer``. Rows outside the sublayers of a layer drop out.
    """
    inside = rows.filter(pl.col("layer").is_not_null() & pl.col("sublayer").is_in(SUBLAYER_ORDER))
    order = pl.col("sublayer").replace_strict(SUBLAYER_ORDER, range(len(SUBLAYER_ORDER)), return_dtype=pl.Int32)
    # The rank closes the gaps of stacks without cross-attention.
    number = (pl.col("layer") * len(SUBLAYER_ORDER) + order).rank("dense").over("run", "step", "stack")
    return inside.with_columns(number.cast(pl.Int32).alias("i")).sort("i", maintain_order=True)
