"""``cov(log x, log y) / var(log x)``: the exponent of y ~ x^e by least squares, within each group of rows."""

from collections.abc import Sequence

import polars as pl


def log_slopes(rows: pl.DataFrame, by: Sequence[str], x: str, y: str, least: int = 2) -> pl.DataFrame:
    """The groups in order, with their ``slope``.

    Args:
        rows: with columns ``by``, ``x`` and ``y``.
        by: what makes a group.
        x: the column of x. The slope is null where a value is null or not positive, or all are equal.
        y: the column of y. The slope is null where a value is null or not positive.
        least: fewer rows than this have no slope.
    """
    u, z = pl.col(x).log(), pl.col(y).log()
    usable = (pl.col(x) > 0) & (pl.col(y) > 0)
    is_defined = usable.fill_null(value=False).all() & (pl.len() >= least) & (u.var() > 0)
    return rows.group_by(by, maintain_order=True).agg(pl.when(is_defined).then(pl.cov(u, z) / u.var()).alias("slope"))
