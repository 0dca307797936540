"""``Var x_l / Var x_(l-1) = (1 + v ρ)(1 + c)``: the growth of a stack without norms, from how similar its tokens are.

Attention that averages over all n tokens of a sentence gives each their mean x̄, times matrices of gain v. It adds v ρ
of the stream's variance. ρ = ‖x̄‖² / (‖X‖²/n) is 1 where all tokens are equal. From the stored numbers ρ = 1 - r²,
where r = ‖X - 1 x̄ᵀ‖ / ‖X‖ is the rank-one residual of the input of attention. The feed-forward network adds the share
c of its own input (Zhang, Dauphin and Ma, 2019, for any residual network). The init determines v and c.
"""

from collections.abc import Iterable, Mapping

import polars as pl

from lnlab.facts import QuantityWords
from lnlab.keys import Json
from lnlab.select.quantity import SITE, STATE, quantities, quantity_product, stored_rows
from lnlab.select.settings import settings_of
from lnlab.setting import Setting
from lnlab.tables import Results


@quantities.register(
    "variance_over_input",
    words=QuantityWords("variance over the input's", "ratio", "variance in a layer over that of the embedding"),
    of=("activation_variance",),
)
def variance_over_input(results: Results) -> pl.DataFrame:
    """``Var x_l / Var x_0``: variance in a layer over that of the stack's embedding (Zhang, Dauphin and Ma, 2019)."""
    variances = stored_rows(results, "activation_variance")
    inputs = variances.filter(pl.col("sublayer") == "embedding")
    inside = variances.filter(pl.col("layer").is_not_null())
    return quantity_product(inside, inputs, "variance_over_input", at=("stack",), power=-1.0)


@quantities.register(
    "growth_over_prediction",
    words=QuantityWords(
        "growth over prediction",
        "ratio of logarithms",
        "log of a layer's variance growth over the log of the growth predicted from token similarity",
    ),
    of=("activation_variance", "rank_one_residual"),
)
def growth_over_prediction(results: Results) -> pl.DataFrame:
    """``log(Var x_l / Var x_(l-1)) / log((1 + v ρ_l)(1 + c))``: 1 where likeness explains it (Zhang et al., 2019).

    For encoders without norms, of which every layer is ``x + f(x)`` twice, and inits whose v and c are known.
    """
    layer_keys = ("stack", "layer")
    attention_input = pl.col("sublayer") == "self_attention", pl.col("tensor") == "in"
    layer_output = pl.col("sublayer") == "feed_forward", pl.col("tensor") == "sum", pl.col("stack") == "encoder"
    variances = stored_rows(results, "activation_variance")
    outputs, inputs = variances.filter(*layer_output), variances.filter(*attention_input)
    growth = quantity_product(outputs, inputs, "growth", at=layer_keys, power=-1.0)
    residuals = stored_rows(results, "rank_one_residual").filter(*attention_input)
    residuals = residuals.select(*STATE, *layer_keys, _r="value")
    with_residuals = growth.join(residuals, on=[*STATE, *layer_keys], maintain_order="left")
    plain = settings_of(results).where(_PLAIN)["variant"]
    known = with_residuals.join(known_gains(results, plain), on="variant", maintain_order="left")
    predicted = (1 + pl.col("v") * (1 - pl.col("_r") ** 2)) * (1 + pl.col("c"))
    value = pl.col("value").log() / predicted.log()
    return known.select(*STATE, pl.lit("growth_over_prediction").alias("quantity"), *SITE, value.alias("value"))


_PLAIN: Mapping[str, Json] = {
    "encoder.norm.kind": "none",
    "encoder.placement.kind": ["pre", "post"],
    "model.linear.kind": ["plain", None],
}
"""Of an encoder whose layer is ``x + f(x)`` twice, with matrices as the init drew them."""


def known_gains(results: Results, variants: Iterable[str]) -> pl.DataFrame:
    """``variant v c`` of those of these variants whose init is known."""
    settings = settings_of(results).by_variant
    rows = [(variant, *gains) for variant in variants if (gains := init_gains(settings[variant]))]
    return pl.DataFrame(rows, schema={"variant": pl.String, "v": pl.Float64, "c": pl.Float64}, orient="row")


def init_gains(setting: Setting) -> tuple[float, float] | None:
    """``v`` and ``c`` of a setting's init, or None where they are not known.

    Let r = d_ff / d. Xavier's matrices have v = 1 and c = 2r / (1 + r)². Fairseq's halve v. Kaiming's first matrix of
    the feed-forward network, with Xavier's second, gives c = 2r / (1 + r).
    """
    init = setting.get("init")
    if init is None:
        return None
    if init["kind"] == "zero_qk":
        return init_gains(Setting({**setting.parts, "init": init["of"]}))
    r = setting.get("model.d_ff") / setting.get("model.d_model")
    xavier = 2 * r / (1 + r) ** 2
    if init["kind"] == "kaiming":
        return (1.0, 2 * r / (1 + r)) if init["matrices"] == "w1" else None
    return {"xavier_normal": (1.0, xavier), "xavier_uniform": (1.0, xavier), "fairseq": (0.5, xavier)}.get(init["kind"])
