"""How runs ended, as the numbers that are read of them see it.

A stop rule may end a run before its last update though nothing is wrong with it: such a run is ``stopped``. Its curves
are cut where the rule decided, so that no number taken after step 0 is comparable with those of whole runs.
"""

import polars as pl

from lnlab.select.early_stops import STOPPED, any_unfinished, stopped_early
from lnlab.select.quantity import quantity_fact
from lnlab.select.select import Selection, runs_with
from lnlab.tables import ENDED_EARLY, Results


def run_endings(results: Results, selection: Selection, over: str | None = None) -> pl.DataFrame:
    """The runs that a selection is about, ``status`` and ``reason`` as its numbers see them.

    A stopped run has the status ``stopped``. For a quantity over a grid of rates a run that diverged is an answer like
    any other: ``finished``. For one that compares a run with all others, nothing has run until everything has.
    """
    runs = runs_with(results, selection, over)
    if "done" in runs.columns:
        elsewhere = pl.col("reason").str.starts_with(ENDED_EARLY.partition("{")[0]).fill_null(value=False)
        by_rule = pl.format("stopped at step {} by its rule", "done")
        reason = pl.when(elsewhere).then("reason").otherwise(by_rule)
        early = pl.when(stopped_early(runs))
        runs = runs.with_columns(
            status=early.then(pl.lit(STOPPED)).otherwise("status"), reason=early.then(reason).otherwise("reason")
        )
    if quantity_fact(selection, "over"):
        runs = runs.with_columns(pl.col("status").replace("diverged", "finished"))
    if quantity_fact(selection, "across") and any_unfinished(results.runs):
        runs = runs.with_columns(status=pl.lit(None, pl.String))
    return runs


def ending_text(status: str, reason: str | None) -> str:
    """How a run ended, in words."""
    if status == STOPPED and reason:
        return reason
    return f"{status}: {reason}" if reason else status


def fate_without_numbers(rows: pl.DataFrame, runs: pl.DataFrame, needs: str | None) -> tuple[str, str]:
    """What became of a seed without all its numbers: ``failed``, ``pending`` or ``excluded``, and why.

    Args:
        rows: the numbers of the seed that there are, in ``value``.
        runs: its runs, as ``run_endings`` has them.
        needs: what the quantity cannot be measured without, in words; None: nothing.
    """
    reasons = dict(runs.select("status", "reason").iter_rows())
    if "diverged" in reasons:
        return "failed", reasons["diverged"] or "diverged"
    if (~rows["value"].is_finite()).any():
        return "failed", "its number is not finite"
    if any_unfinished(runs):
        return "pending", "has not run to its end"
    ending_texts = [ending_text(status, reason) for status, reason in reasons.items() if status != "finished"]
    unmeasured = "not measured" if needs is None else f"not measured: it needs {needs}"
    return "excluded", "; ".join(ending_texts) or unmeasured
