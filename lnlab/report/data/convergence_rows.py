"""The stored rows behind cells of C and N, and which runs of them cannot be judged."""

from collections.abc import Sequence

import polars as pl

from lnlab.analyse.convergence.agreement import RatesColumn
from lnlab.analyse.convergence.curves import LOSS_QUANTITIES, decisive_losses
from lnlab.report.data.downsample import thin_points
from lnlab.report.data.series import missing_runs_sentence
from lnlab.tables import Results

_MOST = 50
"""Points that a line has at most."""


def loss_rows(results: Results, quantity: str, split: str) -> pl.DataFrame:
    """Every row of one loss."""
    return results.tables["curves"].filter(pl.col("quantity") == quantity, pl.col("split") == split)


def thinned_losses(results: Results) -> pl.DataFrame:
    """The training losses at no more than ``_MOST`` steps a run, the extremes among them; idempotent."""

    def thinned(results: Results) -> pl.DataFrame:
        rows = loss_rows(results, "loss", "train").filter(pl.col("value").is_finite()).sort("run", "step")
        long = pl.len().over("run") > _MOST
        marked = rows.filter(long).with_columns(panel=pl.lit(None, pl.String), series="run")
        if marked.is_empty():
            return rows
        thinned_rows = thin_points(marked, _MOST * marked["run"].n_unique())[0].drop("panel", "series")
        return pl.concat([rows.filter(~long), thinned_rows]).sort("run", "step")

    return results.once("thinned_losses", thinned)


def convergence_source_rows(
    results: Results, columns: Sequence[RatesColumn], *, curves: bool
) -> dict[str, pl.DataFrame]:
    """The stored rows behind columns: those that decide, and of other training losses those drawn, if they are."""
    runs = list({run for column in columns for run in column.runs["run"]})
    table = results.tables["curves"].filter(pl.col("run").is_in(runs), pl.col("quantity").is_in(LOSS_QUANTITIES))
    drawn = [thinned_losses(results).filter(pl.col("run").is_in(runs))] if curves else []
    return {"curves": pl.concat([decisive_losses(table), *drawn]).unique(maintain_order=True)}


def unjudged_runs(results: Results, columns: Sequence[RatesColumn]) -> str:
    """Which runs are missing, in words; one that diverged is judged by that."""
    runs = pl.concat([column.runs for column in columns]).unique("run") if columns else results.runs
    return missing_runs_sentence(runs.with_columns(pl.col("status").replace("diverged", "finished")))
