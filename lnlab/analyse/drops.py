"""``min {t : L_t <= L_0 - .9 (L_0 - min L)}``: how soon a run has made nearly all of its own way down.

It compares shapes of curves: the target is each run's own, so that one that comes down a little in no time is quick.
``time_to_target`` has one target for all.
"""

import math

import polars as pl

from lnlab.analyse.quantities import STATE, quantities
from lnlab.analyse.training import as_quantity, curve, final_losses
from lnlab.tables import Results

SHARE = 0.9
"""Of the way from the first to the lowest validation loss."""


@quantities.register(
    "steps_to_drop", of=("nll",), trained=True, needs="the validation loss at step 0, and one that is lower"
)
def steps_to_drop(results: Results) -> pl.DataFrame:
    """``min {t : L_t <= L_0 - .9 (L_0 - min L)}``: updates to 90 % of the drop of a run (after Yu, 2024, Figure 4).

    Of the validation nll, counted in evaluations: let ``train.evaluate`` begin at step 0 and look often enough.
    Infinite where a run diverged, or never came below where it began.
    """
    losses = curve(results, "nll", "validation")
    starts = losses.filter(pl.col("step") == 0).select("run", _start="value")
    finite = losses.filter(pl.col("value").is_finite()).join(starts, on="run", maintain_order="left")
    lowest = pl.col("value").min().over("run")
    target = pl.col("_start") - SHARE * (pl.col("_start") - lowest)
    there = finite.filter(lowest < pl.col("_start"), pl.col("value") <= target)
    first = there.group_by("run", maintain_order=True).agg(_at=pl.col("step").min())
    runs = final_losses(results).filter(pl.col("run").is_in(starts["run"].implode()), ~pl.col("cut"))
    found = runs.join(first, on="run", how="left", maintain_order="left")
    steps = pl.when(pl.col("value").is_finite()).then(pl.col("_at").cast(pl.Float64).fill_null(math.inf))
    return as_quantity(found.select(*STATE, value=steps.otherwise(math.inf)), "steps_to_drop")
