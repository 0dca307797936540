"""``sqrt(Σ_W ‖E g_W‖²)``: the gradients of all weights as one vector."""

import polars as pl

from lnlab.analyse.quantities.training import as_run_quantity
from lnlab.facts import QuantityWords
from lnlab.select.quantity import STATE, quantities, stored_rows
from lnlab.tables import Results


@quantities.register(
    "total_gradient_norm",
    words=QuantityWords(
        "total gradient norm",
        "{nats}",
        "norm of the mean gradient of all matrices and tables together",
        "‖E ∂L/∂θ‖",
    ),
    of=("gradient_norm",),
)
def total_gradient_norm(results: Results) -> pl.DataFrame:
    """``sqrt(Σ_W ‖E g_W‖²)``: of all that ``gradient_norm`` measured in a state together (Xiong et al., 2020).

    The parts of a tied table count one by one. One that is not finite makes the whole so.
    """
    norms = stored_rows(results, "gradient_norm")
    # the largest is taken out first: squares overflow long before norms do
    largest = pl.col("value").max().alias("_largest")
    scaled = norms.with_columns(_scale=pl.col("value").max().over(STATE))
    ratio = pl.when(pl.col("_scale") > 0).then(pl.col("value") / pl.col("_scale")).otherwise(0.0)
    sums = (
        scaled.with_columns(_ratio=ratio)
        .group_by(STATE, maintain_order=True)
        .agg(largest, pl.col("_ratio").pow(2).sum())
    )
    return as_run_quantity(sums.with_columns(value=pl.col("_largest") * pl.col("_ratio").sqrt()), "total_gradient_norm")
