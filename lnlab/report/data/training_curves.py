"""Turn stored curves into training curves: means over runs that did not diverge, and each diverged run by itself.

Curves are thinned before anything is computed from them, so that a report keeps no rows that its page does not show.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import polars as pl

from lnlab.claims.bounded import is_fraction
from lnlab.errors import ReportError
from lnlab.issues import Issue
from lnlab.keys import Json
from lnlab.report.data.curve_windows import (
    LEVEL_SCHEMA,
    batch_means,
    of_single_batches,
    thinned_curves,
    thinned_rates,
    thinned_runs,
    window_means,
)
from lnlab.report.data.figure import SEED_SCHEMA, FigureData, as_seeds
from lnlab.report.data.labels import label_series, unfinished_series
from lnlab.report.data.series import (
    mean_points,
    missing_runs_sentence,
    refuse_duplicates,
    source_rows_of,
    undrawn_numbers,
)
from lnlab.report.loss_units import is_own_loss
from lnlab.report.theme import SeriesStyle, series_style
from lnlab.select.select import Selected
from lnlab.specfile.columns import VOCABULARY
from lnlab.tables import Results

CurveAxis = Literal["step", "epoch"]
RUN_SCHEMA = {"run": pl.String, **SEED_SCHEMA}


@dataclass(frozen=True, kw_only=True)
class TrainingCurves(FigureData):
    """Training curves of the runs that did not diverge. If several splits are drawn, they are the panels.

    Attributes:
        diverged: ``run panel series line x seed value``, of the runs that diverged, up to their last finite number.
        survivors: the same of the runs that finished, of series of which too many diverged for a mean.
        split: the one that all numbers are of, or nothing.
        divergence_counts: by series, how many of its runs diverged, and how many there are.
        batches: ``series line x estimate``: means over seeds of single batches, where ``seeds`` are means over windows.
        epoch_steps: training steps of an epoch, where all drawn runs have the same number.
        rates: ``series line x estimate``: the learning rate of each series.
        entropy: the smallest and the largest entropy of the words over runs, or None if unknown.
    """

    diverged: pl.DataFrame
    survivors: pl.DataFrame
    split: str
    divergence_counts: Mapping[str, tuple[int, int]]
    batches: pl.DataFrame
    epoch_steps: float | None
    rates: pl.DataFrame
    entropy: tuple[float, float] | None

    @property
    def style(self) -> SeriesStyle:
        """Splits differ in their dashes, so that colours alone tell the series apart."""
        return series_style(self.names, range(len(self.names)) if self.panels else self.families)


def collect_training_curves(
    results: Results,
    quantity: str,
    where: Mapping[str, Json],
    x: CurveAxis,
    *,
    log: bool,
    rates: bool = False,
) -> TrainingCurves:
    """The lines of one quantity.

    Args:
        results: of an experiment.
        quantity: stored at steps, by training or by a probe, or derived.
        where: which rows.
        x: the horizontal axis.
        log: whether it is drawn on a logarithmic axis, which zeros and negative numbers cannot enter.
        rates: whether the learning rates are drawn as well.

    Raises:
        LabError: ``where`` selects nothing.
        ReportError: a seed has more than one number at one point, or the runs have no epochs.
    """
    selection = {"quantity": quantity, **where}
    selected = Selected(results, selection)
    runs = selected.runs
    names, families, labels = label_series(results, runs, "")
    labelled_runs = labels.join(runs.select("run", "status"), on="run", maintain_order="left")
    unfinished = unfinished_series(labelled_runs)
    names = tuple(unfinished.get(name, name) for name in names)
    labels, labelled_runs = (f.with_columns(pl.col("series").replace(unfinished)) for f in (labels, labelled_runs))
    placed = _with_x(results, selected.rows.join(labelled_runs, on="run", maintain_order="left"), x)
    # a panel is a split, in the order of the vocabulary; a probe's numbers have none
    known = VOCABULARY["split"]
    split = pl.col("split") if "split" in placed.columns else pl.lit(None, pl.String)
    present = set(placed.select(split.alias("split"))["split"].drop_nulls())
    splits = tuple(word for word in known if word in present)
    order = split.replace_strict(known, range(len(known)), default=len(known), return_dtype=pl.Int32)
    placed = placed.with_columns(
        panel=split if len(present) > 1 else pl.lit(None, pl.String),
        _split=order,
    )
    refuse_duplicates(placed, x)
    diverged = (pl.col("status") == "diverged").fill_null(value=False)
    of_unfinished = pl.col("series").is_in(list(unfinished.values()))
    survivors = thinned_runs(_drawable(placed.filter(~diverged & of_unfinished), log=log))
    surviving = placed.filter(~diverged & ~of_unfinished)
    diverged_rows = _drawable(placed.filter(diverged), log=log)
    drawn = _drawable(surviving, log=log)
    thinned = thinned_curves(drawn)
    diverged_curves = thinned_runs(diverged_rows)
    placed_seeds = as_seeds(thinned.sort("_split", "line", "x", "seed"))
    single_batches = of_single_batches(placed_seeds, splits)
    seeds = window_means(placed_seeds, single_batches, log=log)
    finite = surviving.filter(pl.col("value").is_finite()).height
    learning_rates, rate_rows = _rates(results, labels if rates else labels.clear(), x)
    supporting_rows = (
        rate_rows,
        *(last_rows(results, word, labels) for word in ("unigram_entropy", "epoch")),
    )
    entropy = supporting_rows[1]["value"].drop_nans()
    counts = labelled_runs.group_by("series", maintain_order=True).agg(
        (pl.col("status") == "diverged").sum().alias("gone"), pl.len()
    )
    epoch_steps = None
    if x == "step" and not (shares := epochs_per_update(results, labelled_runs)["_share"]).is_empty():
        least, most = float(shares.min()), float(shares.max())  # type: ignore[arg-type]
        if 0 < most <= 1.01 * least:  # the same in all runs
            epoch_steps = 1 / float(shares.mean())  # type: ignore[arg-type]
    # numbers that no axis can show are kept as well: the caption counts them, also when it is written again
    hidden = surviving.join(drawn, on=["run", "step", "panel"], how="anti", nulls_equal=True)
    tables = source_rows_of(results, quantity, pl.concat([thinned, hidden, diverged_curves, survivors]))
    if (recorded := results.tables.get("curves")) is not None:
        others = [rows.select(recorded.columns) for rows in supporting_rows if not rows.is_empty()]
        tables["curves"] = pl.concat([tables["curves"], *others]).unique(maintain_order=True)
    return TrainingCurves(
        seeds=seeds,
        points=mean_points(seeds, log=log, fraction=is_fraction(selection)),
        diverged=diverged_curves.select(pl.col(c).cast(t) for c, t in RUN_SCHEMA.items()),
        survivors=survivors.select(pl.col(c).cast(t) for c, t in RUN_SCHEMA.items()),
        names=names,
        families=families,
        panels=splits if len(splits) > 1 else (),
        # of numbers that somebody else has kept, the only split may be nobody's word
        split=splits[0] if len(splits) == 1 and ("split" in where or not is_own_loss()) else "",
        divergence_counts={name: (k, n) for name, k, n in counts.iter_rows()},
        batches=batch_means(placed_seeds.filter(single_batches), log=log),
        epoch_steps=epoch_steps,
        rates=learning_rates,
        entropy=(float(entropy.min()), float(entropy.max())) if len(entropy) else None,  # type: ignore[arg-type]
        left_out=undrawn_numbers(surviving.height - finite, finite - drawn.height),
        missing=missing_runs_sentence(runs),
        rows=tables,
    )


def _with_x(results: Results, rows: pl.DataFrame, x: CurveAxis) -> pl.DataFrame:
    """The rows with their x: the step, or the epoch, of which an update is the same share in all runs of a variant."""
    if x == "step" or rows.is_empty():
        return rows.with_columns(pl.col("step").cast(pl.Float64).alias("x"))
    shares = epochs_per_update(results, rows)
    if shares.is_empty():
        raise ReportError(Issue("not-measured", "x", "these runs have no epochs", "write x: step"))
    joined = rows.join(shares, on="variant", maintain_order="left")
    return joined.with_columns((pl.col("step") * pl.col("_share")).alias("x"))


def epochs_per_update(results: Results, runs: pl.DataFrame) -> pl.DataFrame:
    """``variant _share``: epochs per update, as a mean over runs. Variants whose data have no end have no row."""
    epochs = last_rows(results, "epoch", runs).filter(pl.col("step") > 0)
    share = (pl.col("value") / pl.col("step")).mean().alias("_share")
    return epochs.group_by("variant", maintain_order=True).agg(share)


def last_rows(results: Results, quantity: str, runs: pl.DataFrame) -> pl.DataFrame:
    """The last row of a quantity in the curves of each run."""
    curves = results.tables["curves"] if "curves" in results.tables else pl.DataFrame(schema={"quantity": pl.String})
    if curves.is_empty():
        return pl.DataFrame(schema={"run": pl.String, "variant": pl.String, "step": pl.Int64, "value": pl.Float64})
    rows = curves.filter((pl.col("quantity") == quantity) & pl.col("run").is_in(runs["run"].unique().implode()))
    return rows.sort("step", maintain_order=True).unique("run", keep="last", maintain_order=True)


def _drawable(rows: pl.DataFrame, *, log: bool) -> pl.DataFrame:
    finite = rows.filter(pl.col("value").is_finite())
    return finite.filter(pl.col("value") > 0) if log else finite


def _rates(results: Results, labels: pl.DataFrame, x: CurveAxis) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The learning rate of each series, and the stored rows behind it."""
    curves = results.tables.get("curves")
    if curves is None or curves.is_empty():
        return pl.DataFrame(schema=LEVEL_SCHEMA), last_rows(results, "learning_rate", labels)
    rows = curves.filter(pl.col("quantity") == "learning_rate").join(labels, on="run", maintain_order="left")
    if rows.is_empty():
        return pl.DataFrame(schema=LEVEL_SCHEMA), rows.select(curves.columns)
    panel = _with_x(results, rows, x).filter(pl.col("value").is_finite()).with_columns(panel=pl.lit(None, pl.String))
    thinned = thinned_rates(panel)
    means = thinned.group_by("series", "line", "x").agg(pl.col("value").mean().alias("estimate")).sort("line", "x")
    return means.select(pl.col(c).cast(t) for c, t in LEVEL_SCHEMA.items()), thinned.select(curves.columns)
