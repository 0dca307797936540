"""``phi = (H1 - L) / (H1 - L_ref)``: how much of what can be learned a run has learned.

H1 is the entropy of single target tokens, what knowing word frequencies alone costs; L the last validation nll; L_ref
the lowest median of L over seeds among all variants with the same task. Below .25 a run has failed, above .90 it has
trained, and between it is neither. Unlike a loss, phi does not depend on the vocabulary.
"""

import math
from statistics import median

import polars as pl

from lnlab.analyse.quantities import STATE, quantities
from lnlab.analyse.settings import settings
from lnlab.analyse.training import as_quantity, curve, final_losses
from lnlab.keys import canonical
from lnlab.tables import Results

FAILS, TRAINS = 0.25, 0.9
NEEDS = "the entropy of single tokens, and a variant that beats it"


@quantities.register("learned_fraction", of=("nll", "unigram_entropy"), trained=True, across=True, needs=NEEDS)
def learned_fraction(results: Results) -> pl.DataFrame:
    """``phi = (H1 - L) / (H1 - L_ref)``: learned, of what the best variant has (after Xiong et al., 2020, Section 3.2).

    0 of a run that diverged; not there where not even the best variant is better than the entropy of single tokens.
    """
    return as_quantity(fractions(results), "learned_fraction")


def fractions(results: Results) -> pl.DataFrame:
    """``run variant seed step value cut``: phi of every run that trained to an end; null where it is not defined."""
    losses = with_task(results, final_losses(results))
    entropy = curve(results, "unigram_entropy", "train").group_by("run", maintain_order=True).first()
    lowest = [(task, min(medians.values())) for task, medians in by_task(losses).items()]
    best = pl.DataFrame(lowest, schema={"_task": pl.String, "_best": pl.Float64}, orient="row")
    joined = losses.join(entropy.select("run", _h="value"), on="run", how="left", maintain_order="left")
    joined = joined.join(best, on="_task", how="left", maintain_order="left")
    known, failed = pl.col("_h") > pl.col("_best"), pl.col("value").is_infinite()
    share = (pl.col("_h") - pl.col("value")) / (pl.col("_h") - pl.col("_best"))
    value = pl.when(failed).then(0.0).when(known).then(share)
    return joined.select(*STATE, value.alias("value"), "cut")


def with_task(results: Results, rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with a column ``_task``: the resolved task of their variant, as text."""
    tasks = {variant: canonical(setting["task"]) for variant, setting in settings(results).items()}
    task = pl.col("variant").replace_strict(tasks, default=None, return_dtype=pl.String)
    return rows.with_columns(_task=task)


def by_task(rows: pl.DataFrame) -> dict[str, dict[str, float]]:
    """Task -> variant -> its median over seeds; a run that a rule cut short counts as the worst."""
    whole = rows.drop_nulls("value").with_columns(pl.when("cut").then(math.inf).otherwise("value").alias("value"))
    found: dict[str, dict[str, float]] = {}
    groups = whole.group_by("_task", "variant", maintain_order=True).agg("value")
    for task, variant, values in groups.iter_rows():
        found.setdefault(task, {})[variant] = median(values)
    return found
