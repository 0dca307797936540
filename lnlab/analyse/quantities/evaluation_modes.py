"""``L_run - L_batch``: the cost of running statistics in batch norms, where training used those of batches."""

import polars as pl

from lnlab.analyse.quantities.training import as_run_quantity, recorded_curve
from lnlab.facts import QuantityWords
from lnlab.select.quantity import STATE, quantities
from lnlab.tables import Results


@quantities.register(
    "evaluation_gap",
    words=QuantityWords(
        "cost of running statistics",
        "{nats}",
        "validation nll with running statistics minus that with the statistics of each batch",
    ),
    of=("nll", "batch_nll"),
    trained=True,
    needs="the probe batch_evaluation, where the validation nll is taken",
)
def evaluation_gap(results: Results) -> pl.DataFrame:
    """``L_run - L_batch``: the validation nll in use above that in training, in nats (Wang et al., 2022).

    Wherever both were taken; 0 of a model without norms over a batch.
    """
    batch = recorded_curve(results, "batch_nll", "validation").select(*STATE, _batch="value")
    joined = recorded_curve(results, "nll", "validation").join(batch, on=STATE, how="inner", maintain_order="left")
    return as_run_quantity(joined.with_columns(pl.col("value") - pl.col("_batch")), "evaluation_gap")
