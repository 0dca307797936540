"""What a residual branch adds, over what enters it."""

import polars as pl

from lnlab.facts import QuantityWords
from lnlab.select.quantity import quantities, quantity_product, stored_rows
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
