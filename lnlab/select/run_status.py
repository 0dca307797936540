"""How runs ended, and what became of a seed that lacks some of its numbers."""

import math

import polars as pl

STOPPED = "stopped"
"""The status of such a run, as the numbers that are read of it see it."""


def stopped_early(runs: pl.DataFrame) -> pl.Expr:
    """Whether a rule ended a run of ``runs`` early. Without a column ``done`` none counts as such."""
    if "done" not in runs.columns:
        return pl.lit(value=False)
    return (pl.col("status").eq("finished") & pl.col("done").lt(pl.col("steps"))).fill_null(value=False)


def any_unfinished(runs: pl.DataFrame) -> bool:
    """Whether any run has not come to its end."""
    return bool(runs["status"].is_in(["interrupted"]).any() or runs["status"].has_nulls())


def ending_text(status: str, reason: str | None) -> str:
    """How a run ended, in words."""
    if status == STOPPED and reason:
        return reason
    return f"{status}: {reason}" if reason else status


def fate_without_numbers(
    rows: pl.DataFrame, runs: pl.DataFrame, needs: str | None, unmet: str | None
) -> tuple[str, str]:
    """What became of a seed without all its numbers: ``failed``, ``unmet``, ``pending`` or ``excluded``, and why.

    Args:
        rows: the numbers of the seed that there are, in ``value``.
        runs: its runs, as ``Selected.endings`` has them.
        needs: what the quantity cannot be measured without, in words. None means nothing.
        unmet: what an infinite number says of a run that has come to its end, in words. None means that it failed.
    """
    # A run that diverged decides over its seed, whatever its other runs may still bring.
    reasons = dict(runs.select("status", "reason").iter_rows())
    if "diverged" in reasons:
        return "failed", reasons["diverged"] or "diverged"
    if (~rows["value"].is_finite()).any():
        if unmet and (rows["value"].is_finite() | (rows["value"] == math.inf)).all():
            return "unmet", unmet
        return "failed", "its number is not finite"
    if any_unfinished(runs):
        return "pending", "has not run to its end"
    ending_texts = [ending_text(status, reason) for status, reason in reasons.items() if status != "finished"]
    unmeasured = "not measured" if needs is None else f"not measured: it needs {needs}"
    return "excluded", "; ".join(ending_texts) or unmeasured
