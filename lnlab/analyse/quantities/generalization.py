"""``L_validation - L_train``: how much worse a model is on sentences that it was not trained on."""

import polars as pl

from lnlab.analyse.quantities.training import as_run_quantity, recorded_curve
from lnlab.facts import QuantityWords
from lnlab.select.quantity import STATE, quantities
from lnlab.tables import Results


@quantities.register(
    "generalization_gap",
    words=QuantityWords(
        "generalization gap",
        "{nats} per {item}",
        "validation negative log likelihood minus that of the training split, both without dropout",
        larger_is="worse",
    ),
    of=("nll",),
    trained=True,
    needs="the probe evaluation of split train, where the validation nll is taken",
)
def generalization_gap(results: Results) -> pl.DataFrame:
    """``L_validation - L_train``: the gap of the nll between splits, in nats (Goodfellow et al., 2016, Section 5.2).

    Wherever both were taken over the whole split. It grows as a model fits its training split, and is to be read
    beside the validation nll.
    """
    train = recorded_curve(results, "nll", "train").select(*STATE, _train="value")
    joined = recorded_curve(results, "nll", "validation").join(train, on=STATE, how="inner", maintain_order="left")
    return as_run_quantity(joined.with_columns(pl.col("value") - pl.col("_train")), "generalization_gap")
