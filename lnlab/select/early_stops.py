"""Which runs a stop rule ended early though nothing was wrong with them, and which have yet to end."""

import polars as pl

STOPPED = "stopped"
"""The status of such a run, as the numbers that are read of it see it."""


def stopped_early(runs: pl.DataFrame) -> pl.Expr:
    """Whether a rule ended a run of ``runs`` early; what a folder without ``done`` does not say is taken as no."""
    if "done" not in runs.columns:
        return pl.lit(value=False)
    return (pl.col("status").eq("finished") & pl.col("done").lt(pl.col("steps"))).fill_null(value=False)


def any_unfinished(runs: pl.DataFrame) -> bool:
    """Whether any run has not come to its end."""
    return bool(runs["status"].is_in(["interrupted"]).any() or runs["status"].has_nulls())
