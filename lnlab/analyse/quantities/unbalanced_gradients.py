"""``‖dL/dW_q‖ / ‖dL/dW_v‖``: gradients of queries and keys against those of values, and what makes them small.

Where all tokens at the input of attention are equal, it makes no difference to which of them a query attends: the
gradients of q and k vanish in proportion to 1 - cos, those of v do not (Noci et al., 2022). Norms are roots of the
unbiased estimates of ‖E g‖², since the noise of mini-batches makes up more of a gradient that is nearly 0.
"""

import polars as pl

from lnlab.analyse.statistics.slopes import log_slopes
from lnlab.facts import QuantityWords
from lnlab.select.quantity import SITE, STATE, quantities, quantity_product, stored_rows
from lnlab.tables import Results

MIN_LAYERS = 4


@quantities.register(
    "q_to_v_gradient",
    words=QuantityWords(
        "gradient of q over that of v", "ratio", "norm of the expected gradient, unbiased, of q over v"
    ),
    of=("gradient_norm_unbiased_sq",),
)
def q_to_v_gradient(results: Results) -> pl.DataFrame:
    """``‖dL/dW_q‖ / ‖dL/dW_v‖``: gradient norm of the queries' matrix over the values', by layer (Noci et al., 2022).

    Null where the unbiased estimate of a square is not positive.
    """
    norms = _norms(results).with_columns(pl.when(pl.col("value") > 0).then(pl.col("value")))
    values, queries = (norms.filter(pl.col("tensor") == word) for word in ("v", "q"))
    return quantity_product(queries, values, "q_to_v_gradient", at=("stack", "layer", "sublayer"), power=-1.0)


@quantities.register(
    "qk_to_v_gradient",
    words=QuantityWords("gradient of q and k over v's", "ratio", "median over layers, of q and k over v"),
    of=("gradient_norm_unbiased_sq",),
)
def qk_to_v_gradient(results: Results) -> pl.DataFrame:
    """``median(‖dL/dW_q‖, ‖dL/dW_k‖) / median ‖dL/dW_v‖``: over the layers of a stack (Liu et al., 2020)."""
    values = pl.col("tensor") == "v"
    stack_keys = [*STATE, "stack", "sublayer"]
    median = pl.col("value").filter(~values).median() / pl.col("value").filter(values).median()
    medians = _norms(results).group_by(stack_keys, maintain_order=True).agg(median.alias("value"))
    return _of_stack(medians, "value", "qk_to_v_gradient")


@quantities.register(
    "token_difference",
    words=QuantityWords("difference of tokens", "1 − cosine", "one minus the mean cosine of two tokens of a sentence"),
    of=("token_cosine",),
)
def token_difference(results: Results) -> pl.DataFrame:
    """``1 - E cos(x_i, x_j)``: of two tokens of a sentence, as self-attention is given them (Noci et al., 2022)."""
    attention_input = pl.col("sublayer") == "self_attention", pl.col("tensor") == "in"
    rows = stored_rows(results, "token_cosine").filter(*attention_input)
    name = pl.lit("token_difference").alias("quantity")
    return rows.select(*STATE, name, *SITE, (1 - pl.col("value")).alias("value"))


@quantities.register(
    "qk_collapse_exponent",
    words=QuantityWords("exponent of the collapse", "slope", "of log(gradient of q over v) on log(1 − cosine)"),
    of=("gradient_norm_unbiased_sq", "token_cosine"),
)
def qk_collapse_exponent(results: Results) -> pl.DataFrame:
    """``slope of log(‖dW_q‖ / ‖dW_v‖) on log(1 - cos)``: over the layers of a stack, at least 4 (Noci et al., 2022).

    By least squares within the run. Null where a layer has no ratio, or tokens that do not differ.
    """
    sublayer_keys = [*STATE, "stack", "layer", "sublayer"]
    differences = token_difference(results).select(*sublayer_keys, _x="value")
    pairs = q_to_v_gradient(results).join(differences, on=sublayer_keys, how="inner", maintain_order="left")
    stack_keys = [*STATE, "stack", "sublayer"]
    return _of_stack(log_slopes(pairs, stack_keys, "_x", "value", MIN_LAYERS), "slope", "qk_collapse_exponent")


def _norms(results: Results) -> pl.DataFrame:
    """The root of the unbiased ‖E g‖² of every q, k and v, with the sign of the estimate."""
    squares = stored_rows(results, "gradient_norm_unbiased_sq")
    attention = squares.filter(pl.col("tensor").is_in(["q", "k", "v"]) & pl.col("layer").is_not_null())
    # Unbiased estimates of a square may be negative; with their sign they keep their order in a median.
    return attention.with_columns(pl.col("value").sign() * pl.col("value").abs().sqrt())


def _of_stack(rows: pl.DataFrame, value: str, name: str) -> pl.DataFrame:
    """Rows of ``STATE stack sublayer`` as rows of a quantity, without layer, tensor and index."""
    blank = {"layer": pl.lit(None, pl.Int32), "tensor": pl.lit(None, pl.String), "index": pl.lit(None, pl.Int32)}
    named = rows.with_columns(**blank, quantity=pl.lit(name), value=pl.col(value))
    return named.select(*STATE, "quantity", *SITE, "value")
