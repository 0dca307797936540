"""``min {t : L_t <= 1.02 L*}``: how long runs take to a loss that all compared variants reach.

L* is the highest median over seeds of the last validation nll, among the variants that ``reference`` names. Variants
that failed to train (median phi below 0.25 of what the best of them has learned) are left out, as they would set no
target at all. Without ``reference`` the variants are those that a claim compares, or a selection takes. Between two
evaluations the loss is a straight line. A run that never reaches the target takes infinitely long. So does a run that
diverged, which has failed and ranks worst.
"""

import math

import polars as pl

from lnlab.analyse.quantities.learned import FAILED_BELOW, learned_fractions, variant_medians
from lnlab.analyse.quantities.training import as_run_quantity, final_losses, recorded_curve
from lnlab.facts import QuantityWords
from lnlab.keys import Json
from lnlab.select.quantity import STATE, quantities
from lnlab.select.references import reference_variants
from lnlab.tables import Results

TARGET_FACTOR = 1.02
"""Times the final loss of the worst variant."""
_PARTS = ("nll", "unigram_entropy")
_NEEDS = "a compared variant that has learned a quarter of what the best of them has"
_UNMET = "it never reaches the target"


@quantities.register(
    "time_to_target",
    words=QuantityWords(
        "time to target",
        "updates",
        "until the validation nll, interpolated linearly, first reaches the target",
        larger_is="worse",
    ),
    of=_PARTS,
    trained=True,
    across=True,
    needs=_NEEDS,
    unmet=_UNMET,
    reference="compared",
    whole_run=True,
)
def time_to_target(results: Results, reference: Json = None) -> pl.DataFrame:
    """``min {t : L_t <= 1.02 L*}``: updates to the target of the compared variants (Xiong et al., 2020, Section 4.2).

    ``reference`` names the variants whose worst final loss is L*; without it they are those that a claim compares (for
    each value of its ``over``, if it has ``to``). Interpolated between evaluations.
    """
    return as_run_quantity(times_to_target(results, reference), "time_to_target")


@quantities.register(
    "epochs_to_target",
    words=QuantityWords(
        "epochs to target",
        "epochs",
        "until the validation nll, interpolated linearly, first reaches the target",
        larger_is="worse",
    ),
    of=(*_PARTS, "epoch"),
    trained=True,
    across=True,
    needs=_NEEDS,
    unmet=_UNMET,
    reference="compared",
    whole_run=True,
)
def epochs_to_target(results: Results, reference: Json = None) -> pl.DataFrame:
    """``min {t : L_t <= 1.02 L*} / T``: as ``time_to_target``, over updates an epoch (Xiong et al., 2020, Section 4.2).

    Not there where the training data have no end.
    """
    epochs = recorded_curve(results, "epoch", "train")
    share = pl.when(pl.col("step") > 0).then(pl.col("value") / pl.col("step")).fill_null(1.0)
    shares = epochs.group_by("run", maintain_order=True).last().select("run", _share=share)  # 1 where it ended at once
    times = times_to_target(results, reference).join(shares, on="run", maintain_order="left")
    return as_run_quantity(times.with_columns(value=pl.col("value") * pl.col("_share")), "epochs_to_target")


def times_to_target(results: Results, reference: Json) -> pl.DataFrame:
    """``run variant seed step value`` of every run that has a target: the updates to it, infinite if it is not met."""
    runs = final_losses(results)
    goal = pl.col("variant").replace_strict(target_losses(results, reference), default=None, return_dtype=pl.Float64)
    runs = runs.with_columns(_goal=goal).drop_nulls("_goal")
    evaluated = recorded_curve(results, "nll", "validation").join(
        runs.select("run", "_goal"), on="run", maintain_order="left"
    )
    joined = runs.join(target_crossings(evaluated), on="run", how="left", maintain_order="left")
    # A run that fails in the end has failed, though it may have been at the goal before.
    time = pl.when(pl.col("value").is_finite()).then("_at").fill_null(math.inf)
    return joined.select(*STATE, time.alias("value"))


def target_crossings(evaluated: pl.DataFrame) -> pl.DataFrame:
    """``run _at``: the updates at which a loss, straight between evaluations, first is at ``_goal``.

    Args:
        evaluated: ``run step value _goal``, steps rising within a run.
    """
    before, loss = (pl.col(column).shift(1).over("run") for column in ("step", "value"))
    reached_rows = evaluated.with_columns(_t=before, _loss=loss).filter(pl.col("value") <= pl.col("_goal"))
    first = reached_rows.group_by("run", maintain_order=True).first()
    share = (pl.col("_loss") - pl.col("_goal")) / (pl.col("_loss") - pl.col("value"))
    interpolated = pl.col("_t") + share * (pl.col("step") - pl.col("_t"))
    # From no loss, or one that is not finite, no line leads to the goal: the step itself counts.
    crossing = pl.when(pl.col("_loss").is_finite()).then(interpolated).otherwise(pl.col("step").cast(pl.Float64))
    return first.select("run", crossing.alias("_at"))


def target_losses(results: Results, reference: Json) -> dict[str, float]:
    """Variant -> ``1.02 L*`` of its references. A variant whose references have learned nothing is left out."""
    losses = variant_medians(final_losses(results))
    shares = variant_medians(
        learned_fractions(results, reference).with_columns(value=-pl.col("value"))
    )  # cut short: infinitely worse
    learned = {v for v, share in shares.items() if -share >= FAILED_BELOW and math.isfinite(losses.get(v, math.inf))}
    by_variant = {}
    for variant, others in reference_variants(results, reference).items():
        if learned_losses := [losses[other] for other in others if other in learned]:
            by_variant[variant] = TARGET_FACTOR * max(learned_losses)
    return by_variant
