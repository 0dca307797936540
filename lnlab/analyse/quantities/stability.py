"""How nearly a run broke: spikes of the loss."""

import polars as pl

from lnlab.analyse.quantities.training import as_run_quantity, recorded_curve
from lnlab.facts import QuantityWords
from lnlab.select.quantity import STATE, quantities
from lnlab.tables import Results

SPIKE_WINDOW, SPIKE_DEVIATIONS = 100, 7
"""Updates before one with which its loss is compared, and how many of their standard deviations it lies above them."""


@quantities.register(
    "spike_score",
    words=QuantityWords(
        "spike score",
        "of the updates",
        "updates whose training loss lies far above the losses before it",
        larger_is="worse",
    ),
    of=("loss",),
    trained=True,
    whole_run=True,
)
def spike_score(results: Results) -> pl.DataFrame:
    """``share of t with L_t > mean + 7 sd``: spikes of the loss over the 100 updates before (OLMo et al., 2024).

    OLMo compares with 1,000 updates, ten times as many as here, where runs are as short. The first 100 updates are not
    judged, and a run of fewer has no number. A loss that is not finite is a spike, and no part of a mean.
    """
    losses = recorded_curve(results, "loss", "train").with_columns(
        _finite=pl.when(pl.col("value").is_finite()).then("value")
    )
    before = pl.col("_finite").shift().rolling_mean(SPIKE_WINDOW, min_samples=SPIKE_WINDOW // 2).over("run")
    spread = pl.col("_finite").shift().rolling_std(SPIKE_WINDOW, min_samples=SPIKE_WINDOW // 2).over("run")
    place = pl.int_range(pl.len()).over("run")
    judged = losses.with_columns(_above=before + SPIKE_DEVIATIONS * spread, _place=place).filter(
        pl.col("_place") >= SPIKE_WINDOW
    )
    spikes = (pl.col("_finite").is_null() | (pl.col("value") > pl.col("_above"))).mean()
    shares = judged.group_by("run", maintain_order=True).agg(pl.col("variant", "seed", "step").last(), value=spikes)
    return as_run_quantity(shares.select(*STATE, "value"), "spike_score")
