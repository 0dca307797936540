"""``min {t : L_t <= 1.02 L*}``: how long runs take to a loss that all arms reach.

L* is the last validation nll of the worse arm: the highest median over seeds among the variants with the same task, but
for those that failed to train (median phi below .25), which would set no target at all. A run that never gets there
takes infinitely long, and so does one that diverged: it has failed, and ranks worst.
"""

import math

import polars as pl

from lnlab.analyse.learned import FAILS, by_task, fractions, with_task
from lnlab.analyse.quantities import STATE, quantities
from lnlab.analyse.training import as_quantity, curve, final_losses
from lnlab.tables import Results

CLOSE = 1.02
"""Times the final loss of the worse arm."""
_PARTS = ("nll", "unigram_entropy")
_NEEDS = "a variant that has learned a quarter of what can be learned"


@quantities.register("time_to_target", of=_PARTS, trained=True, across=True, needs=_NEEDS)
def time_to_target(results: Results) -> pl.DataFrame:
    """``min {t : L_t <= 1.02 L*}``: updates to the first evaluation at the target (Xiong et al., 2020, Section 4.2).

    Counted in evaluations: let ``train.evaluate`` look often enough.
    """
    found = reached(results).with_columns(value=pl.col("_at").cast(pl.Float64).fill_null(math.inf))
    return as_quantity(found, "time_to_target")


@quantities.register("epochs_to_target", of=(*_PARTS, "epoch"), trained=True, across=True, needs=_NEEDS)
def epochs_to_target(results: Results) -> pl.DataFrame:
    """``min {t : L_t <= 1.02 L*} / T``: as ``time_to_target``, over updates an epoch (Xiong et al., 2020, Section 4.2).

    Not there where the training data have no end.
    """
    epochs = curve(results, "epoch", "train").select("run", _at="step", _epoch="value")
    counted = reached(results).filter(pl.col("run").is_in(epochs["run"].implode()))
    found = counted.join(epochs, on=["run", "_at"], how="left", maintain_order="left")
    value = pl.when(pl.col("_at").is_null()).then(math.inf).otherwise("_epoch")
    return as_quantity(found.with_columns(value=value), "epochs_to_target")


def reached(results: Results) -> pl.DataFrame:
    """``run variant seed step`` of every run of a task that has a target, and ``_at``, the step at which it was met."""
    runs = with_task(results, final_losses(results))
    told = targets(results)
    goal = pl.DataFrame(list(told.items()), schema={"_task": pl.String, "_goal": pl.Float64}, orient="row")
    runs = runs.join(goal, on="_task", how="inner", maintain_order="left")
    evaluated = curve(results, "nll", "validation").join(runs.select("run", "_goal"), on="run", maintain_order="left")
    first = evaluated.filter(pl.col("value") <= pl.col("_goal")).group_by("run", maintain_order=True).first()
    joined = runs.join(first.select("run", _at="step"), on="run", how="left", maintain_order="left")
    at = pl.when(pl.col("value").is_finite()).then("_at")
    return joined.select(*STATE, at.alias("_at"))


def targets(results: Results) -> dict[str, float]:
    """Task -> ``1.02 L*``; a task that no variant has learned has none."""
    losses = by_task(with_task(results, final_losses(results)))
    learned = with_task(results, fractions(results))
    shares = by_task(learned.with_columns(value=-pl.col("value")))  # what is cut short is infinitely worse
    found = {}
    for task, medians in losses.items():
        learned_by = {variant: -share for variant, share in shares.get(task, {}).items()}
        arms = [loss for arm, loss in medians.items() if math.isfinite(loss) and learned_by.get(arm, 0) >= FAILS]
        if arms:
            found[task] = CLOSE * max(arms)
    return found
