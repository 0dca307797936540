"""What follows from the gradient norms, streams and Jacobians along the layers."""

import polars as pl

from lnlab.facts import QuantityWords
from lnlab.select.quantity import SITE, STATE, quantities, quantity_product, stored_rows
from lnlab.tables import Results


@quantities.register(
    "scaled_gradient_norm",
    words=QuantityWords("scaled gradient norm", "{nats} per {item}", "gradient norm times the norm of its stream"),
    of=("gradient_norm", "hidden_norm_sq"),
)
def scaled_gradient_norm(results: Results) -> pl.DataFrame:
    """``‖E g‖_F · √(E‖x‖²/d)``: a weight's gradient norm times the size of the stream it adds to (Xiong et al., 2020).

    The stream is taken after the addition, where the next norm divides by it: a layer norm shrinks the gradient by
    √d/‖x‖, so in the last layer the product does not depend on the number of layers.
    """
    streams = stored_rows(results, "hidden_norm_sq").filter(pl.col("tensor") == "sum")
    at = ("stack", "layer", "sublayer")
    return quantity_product(stored_rows(results, "gradient_norm"), streams, "scaled_gradient_norm", at=at, power=0.5)


@quantities.register(
    "gradient_growth",
    words=QuantityWords("gradient growth", "ratio", "gradient norm over that of the layer before"),
    of=("gradient_norm",),
)
def gradient_growth(results: Results) -> pl.DataFrame:
    """``‖E g_l‖_F / ‖E g_(l-1)‖_F``: a weight's gradient norm over that of the layer before (Xiong et al., 2020)."""
    norms = stored_rows(results, "gradient_norm").filter(pl.col("layer").is_not_null())
    before = norms.with_columns(pl.col("layer") + 1)
    return quantity_product(norms, before, "gradient_growth", power=-1.0)


@quantities.register(
    "isometry_gap",
    words=QuantityWords("distance from isometry", "{nats}", "absolute logarithm of the mean squared singular value"),
    of=("jacobian_mean_square",),
)
def isometry_gap(results: Results) -> pl.DataFrame:
    """``|log (‖J‖_F² / n)|``: how far the mean squared singular value is from 1, in nats (Pennington et al., 2017)."""
    squares = stored_rows(results, "jacobian_mean_square")
    gap = pl.col("value").log().abs().alias("value")
    return squares.select(*STATE, pl.lit("isometry_gap").alias("quantity"), *SITE, gap)
