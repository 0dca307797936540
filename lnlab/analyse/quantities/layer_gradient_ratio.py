"""``‖dL/dx_(l-1)‖ / ‖dL/dx_l‖ = Π 1/σ_k · g_k``: what the norms of a Post-LN layer and its branches do to the gradient.

On its way down through sublayer k the gradient of the stream passes its norm, which divides it by σ_k, and the sum
x + f(x), whose branch adds to it by the gain g_k = ‖dL/dx‖ / ‖dL/d(x + f(x))‖. Both are measured: 1/σ_k at the norm,
and g_k from the gradients on both sides of the addition. A norm also loses two directions, a factor sqrt((d - 2)/d)
(Xiong et al., 2020, Lemma 3), and the tokens' σ differ. The ratio of both sides shows how much that matters.
"""

import polars as pl

from lnlab.facts import QuantityWords
from lnlab.select.quantity import SITE, STATE, quantities, quantity_product, stored_rows
from lnlab.select.settings import settings_of
from lnlab.tables import Results

LAYER_KEYS = ("stack", "layer")


@quantities.register(
    "layer_gradient_over_prediction",
    words=QuantityWords(
        "measured over predicted",
        "ratio",
        "gradient ratio of a layer over the product of its norms' inverse sigmas and its branches' gains",
    ),
)
def layer_gradient_over_prediction(results: Results) -> pl.DataFrame:
    """``(‖dL/dx_(l-1)‖ / ‖dL/dx_l‖) / Π (g_k / σ_k)``: 1 where norms shrink by 1/σ (after Xiong et al., 2020).

    For stacks in Post-LN: σ is that of the sums, and g the gains of the branches, as measured.
    """
    sublayer_keys = (*LAYER_KEYS, "sublayer")
    sums = stored_rows(results, "stream_gradient").filter(pl.col("tensor") == "sum")
    gains = quantity_product(sums, _sublayer_outputs(results), "gain", at=sublayer_keys, power=-1.0)
    sigmas = stored_rows(results, "norm_inverse_sigma").filter(pl.col("tensor") == "scale")
    ratios = quantity_product(gains, sigmas, "layer_gradient_over_prediction", at=sublayer_keys, power=-1.0)
    layers = ratios.group_by(*STATE, "quantity", *LAYER_KEYS, maintain_order=True).agg(pl.col("value").product())
    null = {name: pl.lit(None, gains.schema[name]) for name in ("sublayer", "tensor", "index")}
    post_stacks = settings_of(results).stacks_where("placement.kind", "post")
    post_layers = layers.join(post_stacks, on=["variant", "stack"], how="semi", maintain_order="left")
    return post_layers.with_columns(**null).select(*STATE, "quantity", *SITE, "value")


def _sublayer_outputs(results: Results) -> pl.DataFrame:
    """‖dL/dx‖ of the stream as it goes on after each sublayer."""
    inside = pl.col("layer").is_not_null(), pl.col("tensor") == "out"
    return stored_rows(results, "stream_gradient").filter(*inside)
