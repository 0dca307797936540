"""What a residual branch adds, over what enters it, and what uniform attention adds.

With q = k = 0 every query receives the mean over the n tokens that it may attend to, so that for independent tokens of
size 1 and a value matrix that keeps the size, E‖(1/n) Σ_j x_j V‖² = E‖x‖² / n (Xiong et al., 2020, Section 3.3).
"""

import polars as pl

from lnlab.facts import QuantityWords
from lnlab.select.quantity import SITE, STATE, quantities, quantity_product, stored_rows
from lnlab.select.settings import settings_of
from lnlab.tables import Results


@quantities.register(
    "branch_gain",
    words=QuantityWords(
        "branch gain", "ratio", "mean squared norm of a sublayer's output over that of its input", "‖f(x)‖²/‖x‖²"
    ),
    of=("hidden_norm_sq",),
)
def branch_gain(results: Results) -> pl.DataFrame:
    """``E‖f(x)‖² / E‖x‖²``: what a sublayer gives back over what it is given (Xiong et al., 2020, Lemmas 1 and 2).

    At the ``branch``. Of a feed-forward network with d_ff = d it is 1/2, half of the squared norm passing the ReLU.
    """
    squares = stored_rows(results, "hidden_norm_sq")
    inputs = squares.filter(pl.col("tensor") == "in")
    branches = squares.filter(pl.col("tensor") == "branch")
    return quantity_product(branches, inputs, "branch_gain", at=("stack", "layer", "sublayer"), power=-1.0)


@quantities.register(
    "attention_gain_times_length",
    words=QuantityWords(
        "attention gain times tokens", "ratio", "branch gain of self-attention times the tokens of a sentence"
    ),
    of=("hidden_norm_sq",),
)
def attention_gain_times_length(results: Results) -> pl.DataFrame:
    """``n E‖f(x)‖² / E‖x‖²``: what self-attention gives back, times the tokens of a sentence (Xiong et al., 2020).

    1 if it is the mean of n independent tokens. Only where the task's sentences all have the same ``length``.
    """
    # Tasks whose sentences differ have no such number, and drop out of the join.
    lengths = settings_of(results).numbers("task.length")
    gains = branch_gain(results).filter(pl.col("sublayer") == "self_attention")
    joined = gains.join(lengths, on="variant", how="inner", maintain_order="left")
    name = pl.lit("attention_gain_times_length").alias("quantity")
    return joined.select(*STATE, name, *SITE, pl.col("value") * pl.col("number"))
