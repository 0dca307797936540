"""How a run was kept from breaking, and how nearly it broke: clipped updates, and spikes of the loss."""

import polars as pl

from lnlab.analyse.quantities.training import as_run_quantity, recorded_curve
from lnlab.facts import QuantityWords
from lnlab.select.quantity import STATE, quantities
from lnlab.select.settings import settings_of
from lnlab.tables import Results

SPIKE_WINDOW, SPIKE_DEVIATIONS = 100, 7
"""Updates before one with which its loss is compared, and how many of their standard deviations it lies above them."""


@quantities.register(
    "clipped_share",
    words=QuantityWords(
        "clipped share", "of the updates", "updates whose gradient, before clipping, is longer than the largest norm"
    ),
    of=("global_gradient_norm",),
    trained=True,
    whole_run=True,
)
def clipped_share(results: Results) -> pl.DataFrame:
    """``share of t with ‖g_t‖ > c``: updates whose gradient was clipped (Pascanu et al., 2013).

    c is ``train.clip``; a run without it has no number. "With clipping" says nothing without it: at a low rate a
    quarter of the updates may be clipped, and at the best one hardly any.
    """
    limits = {
        variant: (setting.get("train") or {}).get("clip")
        for variant, setting in settings_of(results).by_variant.items()
    }
    clip = pl.col("variant").replace_strict(limits, default=None, return_dtype=pl.Float64)
    norms = recorded_curve(results, "global_gradient_norm", "train").with_columns(_clip=clip).drop_nulls("_clip")
    shares = norms.group_by("run", maintain_order=True).agg(
        pl.col("variant", "seed", "step").last(), value=(pl.col("value") > pl.col("_clip")).mean()
    )
    return as_run_quantity(shares, "clipped_share")


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
