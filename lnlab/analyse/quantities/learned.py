"""``phi = (H1 - L) / (H1 - L_ref)``: how much of what its reference has learned a run has learned.

H1 is the entropy of single target tokens, the loss of a model that knows word frequencies alone. L is the last
validation nll. L_ref is the lowest median of L over seeds among the reference variants, which a selection names
(``reference``). Below 0.25 a run has failed, above 0.9 it has trained, and between neither. Unlike a loss, phi does not
depend on the vocabulary. A run that ends above H1, or diverged, has learned nothing: phi is never below 0.
"""

import math
from statistics import median

import polars as pl

from lnlab.analyse.quantities.training import as_run_quantity, final_losses, recorded_curve
from lnlab.facts import QuantityWords
from lnlab.keys import Json
from lnlab.select.quantity import STATE, quantities
from lnlab.select.references import reference_variants
from lnlab.select.settings import settings_of
from lnlab.tables import Results

FAILED_BELOW, HALF_LEARNED, TRAINED_ABOVE = 0.25, 0.5, 0.9
BIMODAL_SPAN = 0.5
"""A variant whose phi spans more over seeds both trains and fails: its seeds are counted, and no mean speaks for it."""
_NEEDS = "the entropy of single tokens, and a reference that beats it"


@quantities.register(
    "learned_fraction",
    words=QuantityWords(
        "learned fraction",
        "1 is the reference",
        "share of the way from the unigram entropy down to the reference's median final nll",
        larger_is="better",
    ),
    of=("nll", "unigram_entropy"),
    trained=True,
    across=True,
    needs=_NEEDS,
    reference="best",
    bimodal=BIMODAL_SPAN,
    whole_run=True,
)
def learned_fraction(results: Results, reference: Json = None) -> pl.DataFrame:
    """``phi = max(0, (H1 - L) / (H1 - L_ref))``: learned, of what ``reference`` has (Xiong et al., 2020, 3.2).

    ``reference`` names variants: ``{method: ...}``, or ``best`` for all of them; of several, the one with the lowest
    median counts. It may be left out where all variants have one placement and one init. 0 of a run that diverged; not
    there where not even the reference is better than the entropy of single tokens.
    """
    return as_run_quantity(learned_fractions(results, reference), "learned_fraction")


def learned_fractions(results: Results, reference: Json = None) -> pl.DataFrame:
    """``run variant seed step value cut``: phi of every run that trained to an end. Null where phi is not defined."""
    losses = final_losses(results)
    entropy = recorded_curve(results, "unigram_entropy", "train").group_by("run", maintain_order=True).first()
    median_losses = variant_medians(losses)
    lowest = {
        variant: min((median_losses[other] for other in others if other in median_losses), default=None)
        for variant, others in reference_variants(results, reference).items()
    }
    best = pl.col("variant").replace_strict(lowest, default=None, return_dtype=pl.Float64)
    joined = losses.join(entropy.select("run", _h="value"), on="run", how="left", maintain_order="left")
    joined = joined.with_columns(_best=best)
    known, failed = pl.col("_h") > pl.col("_best"), pl.col("value").is_infinite()
    share = (pl.col("_h") - pl.col("value")) / (pl.col("_h") - pl.col("_best"))
    # A run that diverged has learned nothing, also where the reference is no better than frequencies.
    value = pl.when(failed).then(0.0).when(known).then(share.clip(lower_bound=0.0))
    return joined.select(*STATE, value.alias("value"), "cut")


def with_task(results: Results, rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with a column ``_task``: the resolved task of their variant, as text."""
    tasks = settings_of(results).values("task").select("variant", _task="value")
    return rows.join(tasks, on="variant", how="left", maintain_order="left")


def variant_medians(rows: pl.DataFrame) -> dict[str, float]:
    """Variant -> its median over seeds. A run that a rule cut short counts as infinitely large."""
    ranked = rows.drop_nulls("value").with_columns(pl.when("cut").then(math.inf).otherwise("value").alias("value"))
    groups = ranked.group_by("variant", maintain_order=True).agg("value")
    return {variant: median(values) for variant, values in groups.iter_rows()}
