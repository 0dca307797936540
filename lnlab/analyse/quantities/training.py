"""The outcome of training, from its recorded curves. A run that diverged or exploded ranks worst.

Losses are validation nlls, never smoothed: a smoothed loss has a floor that depends on the vocabulary.
"""

import math

import polars as pl

from lnlab.facts import QuantityWords
from lnlab.select.quantity import SITE, STATE, quantities
from lnlab.select.run_status import stopped_early
from lnlab.tables import ENDED_STATUSES, Results, table_schema

EXPLOSION_FACTOR = 2.0
"""Times its validation nll before any update: a run that ends above has exploded, though every loss was finite."""


def recorded_curve(results: Results, quantity: str, split: str) -> pl.DataFrame:
    """``run variant seed step value`` of a quantity along the curve, steps rising."""
    types = {"run": pl.String, "variant": pl.String, "seed": pl.Int64, "step": pl.Int64, "value": pl.Float64}
    if (table := results.tables.get("curves")) is None:
        return pl.DataFrame(schema=types)
    rows = table.filter(pl.col("quantity").eq(quantity), pl.col("split").eq(split))
    return rows.select(*types).sort("step", maintain_order=True)


def as_run_quantity(rows: pl.DataFrame, name: str) -> pl.DataFrame:
    """State and value as rows of a quantity of whole runs, which has no site. Null values are dropped."""
    types = table_schema("sites")
    sites = [pl.lit(None, types[column]).alias(column) for column in SITE]
    value = pl.col("value").cast(pl.Float64)
    return rows.drop_nulls("value").select(*STATE, pl.lit(name).alias("quantity"), *sites, value)


def final_losses(results: Results) -> pl.DataFrame:
    """``run variant seed step value cut`` of every run that trained to an end: its last validation nll.

    The loss is infinite where the run diverged, or exploded while finite. ``cut`` says whether a rule stopped it.
    ``step`` is where the value was taken.
    """
    evaluated = recorded_curve(results, "nll", "validation")
    last = evaluated.group_by("run", maintain_order=True).last()
    first = evaluated.filter(pl.col("step") == 0).select("run", _start="value")
    runs = results.runs.filter(pl.col("steps") > 0, pl.col("status").is_in(ENDED_STATUSES))
    # A folder of results may lack the column.
    n_done = pl.col("done") if "done" in runs.columns else pl.lit(None, pl.Int64)
    joined = runs.with_columns(cut=stopped_early(runs)).join(
        last.select("run", "step", "value").join(first, on="run", how="left"),
        on="run",
        how="left",
        maintain_order="left",
    )
    exploded = pl.col("value") > EXPLOSION_FACTOR * pl.col("_start")
    failed = pl.col("status").eq("diverged") | ~pl.col("value").is_finite() | exploded.fill_null(value=False)
    losses = joined.with_columns(
        value=pl.when(failed.fill_null(value=False)).then(math.inf).otherwise("value"),
        step=pl.when(pl.col("status") == "diverged").then(pl.coalesce(n_done, "step", "steps")).otherwise("step"),
    )
    return losses.drop_nulls("value").select(*STATE, "value", "cut")


@quantities.register(
    "final_nll",
    words=QuantityWords(
        "final validation loss",
        "{nats} per {item}",
        "validation negative log likelihood at the end of training",
        larger_is="worse",
    ),
    of=("nll",),
    trained=True,
    whole_run=True,
)
def final_nll(results: Results) -> pl.DataFrame:
    """``L``: the validation nll where a run was evaluated last (Xiong et al., 2020).

    Infinite where it diverged, or ends above twice what it began with.
    """
    return as_run_quantity(final_losses(results), "final_nll")


@quantities.register(
    "best_nll_of_run",
    words=QuantityWords(
        "best nll", "{nats} per {item}", "smallest validation negative log likelihood in training", larger_is="worse"
    ),
    of=("nll",),
    trained=True,
    whole_run=True,
)
def best_nll_of_run(results: Results) -> pl.DataFrame:
    """``min_t L_t``: the lowest validation nll of a run (Xiong et al., 2020).

    Infinite where it diverged, or ends above twice what it began with.
    """
    finite = recorded_curve(results, "nll", "validation").filter(pl.col("value").is_finite())
    lowest = finite.group_by("run", maintain_order=True).agg(_least=pl.col("value").min())
    final = final_losses(results).join(lowest, on="run", how="left", maintain_order="left")
    worst = pl.col("value").is_infinite()
    return as_run_quantity(
        final.with_columns(value=pl.when(worst).then("value").otherwise("_least")), "best_nll_of_run"
    )


@quantities.register(
    "sum_learning_rate",
    words=QuantityWords("sum of learning rates", "over updates", "how far updates of size 1 could lead", "Σ η"),
    of=("learning_rate",),
    trained=True,
)
def sum_learning_rate(results: Results) -> pl.DataFrame:
    """``Σ_(s<=t) lr_s``: how far the rates of the first t updates reach together (Xiong et al., 2020, Section 3.2).

    After every update; only as far as the rate of every update before is known.
    """
    rates = recorded_curve(results, "learning_rate", "train")
    so_far = pl.col("value").cum_sum().over("run")
    number = pl.int_range(1, pl.len() + 1).over("run")
    # A gap in the record ends the sum: from there on rates are missing in it.
    known = rates.with_columns(value=so_far, _n=number).filter(pl.col("_n") == pl.col("step"))
    return as_run_quantity(known, "sum_learning_rate")
