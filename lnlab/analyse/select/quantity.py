"""Quantities that follow from stored ones. They are named in a selection like any other: ``quantity: <name>``.

A builder is ``(results) -> rows``: a frame of ``run variant seed step quantity``, site columns and ``value``,
or ``(results, reference) -> rows`` where its facts have a ``reference``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import polars as pl

from lnlab.facts import Facts, QuantityWords
from lnlab.registry import Registry
from lnlab.tables import Results


@dataclass(frozen=True)
class QuantityFacts(Facts):
    """What a derived quantity says of itself.

    Attributes:
        of: the stored quantities that it is made of, so that a report need not keep the others; None: not known.
        reads: of the rows of those the ones that it reads, so that a report need not keep the others; None: all.
        table: the table that it is made of, where that holds no quantities.
        needs: what must have been measured for it, in words.
        trained: whether it is there only where a run trains.
        across: whether a run's number is made of other runs' too.
        over: the path of the setting that it is taken over: one number is left of all runs that differ there alone.
        reference: whether it is measured against variants that a selection names as its ``reference``, and which these
            are where none is named: the ``best`` of all, or those that are ``compared``.
        bimodal: how far its numbers of one variant may span over seeds for a mean to speak for them; None: any far.
        fraction: whether its numbers lie between 0 and 1.
        rate: whether they are learning rates of a grid, 0 for none: their logarithms are compared, by the median.
        told_by: the keys of a selection that say which of several numbers is meant.
        x: the values of the column x at which it is counted; empty: whatever was measured.
        words: what pages call it; None: the words of its name.
    """

    of: tuple[str, ...] | None = None
    reads: Callable[[pl.DataFrame], pl.DataFrame] | None = None
    table: Literal["sites", "curves", "lines", "histograms", "spectra", "texts"] | None = None
    needs: str | None = None
    trained: bool = False
    across: bool = False
    over: str | None = None
    reference: Literal["best", "compared"] | None = None
    bimodal: float | None = None
    fraction: bool = False
    rate: bool = False
    told_by: tuple[str, ...] = ()
    x: tuple[float, ...] = ()
    words: QuantityWords | None = None


quantities: Registry[Callable[..., pl.DataFrame]] = Registry("quantity", QuantityFacts)
"""Builders ``(results: Results) -> rows``."""

STATE = ("run", "variant", "seed", "step")
SITE = ("stack", "layer", "sublayer", "tensor", "index")


def quantity_fact(selection: Mapping[str, Any], fact_name: str) -> Any:
    """A fact of the derived quantity that a selection names, or None; of several, the first that states it."""
    quantity = selection.get("quantity")
    names = quantity if isinstance(quantity, list | tuple) else [quantity]
    values = (getattr(quantities.entries[name].facts, fact_name) for name in names if name in quantities.entries)
    return next((value for value in values if value), None)


def stored_rows(results: Results, quantity: str) -> pl.DataFrame:
    """The rows of a stored quantity in the table ``sites``: state, site and value."""
    return results.tables["sites"].filter(pl.col("quantity") == quantity).select(*STATE, *SITE, "value")


def quantity_product(
    left: pl.DataFrame, right: pl.DataFrame, name: str, *, at: tuple[str, ...] = SITE, power: float = 1.0
) -> pl.DataFrame:
    """``left · right^power`` at the same state and site; the site columns are those of ``left``.

    Args:
        left: rows of one quantity.
        right: rows of another, at most one for each state and value of ``at``.
        name: what the product is called.
        at: the site columns in which the two must agree; null agrees with null.
        power: -1 gives a quotient.
    """
    other = right.select(*STATE, *at, pl.col("value").alias("_other"))
    joined = left.join(other, on=[*STATE, *at], how="inner", nulls_equal=True, maintain_order="left")
    value = pl.col("value") * pl.col("_other").pow(power)
    return joined.select(*STATE, pl.lit(name).alias("quantity"), *SITE, value.alias("value"))


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
    words=QuantityWords(
        "distance from isometry", "{nats}", "logarithm of the mean squared singular value, without its sign"
    ),
    of=("jacobian_mean_square",),
)
def isometry_gap(results: Results) -> pl.DataFrame:
    """``|log (‖J‖_F² / n)|``: how far the mean squared singular value is from 1, in nats (Pennington et al., 2017)."""
    squares = stored_rows(results, "jacobian_mean_square")
    gap = pl.col("value").log().abs().alias("value")
    return squares.select(*STATE, pl.lit("isometry_gap").alias("quantity"), *SITE, gap)


@quantities.register(
    "hidden_gain",
    words=QuantityWords("hidden gain", "ratio", "norm of a hidden state over that of the embedding"),
    of=("hidden_norm",),
)
def hidden_gain(results: Results) -> pl.DataFrame:
    """``E‖x_l‖ / E‖x_0‖``: the stream after a branch over the embedding that it began as (Zhang et al., 2019).

    After the addition, before any norm; x_0 is the embedding of the same stack, positions included.
    """
    norms = stored_rows(results, "hidden_norm")
    start = norms.filter((pl.col("sublayer") == "embedding") & (pl.col("tensor") == "out"))
    return quantity_product(norms.filter(pl.col("tensor") == "sum"), start, "hidden_gain", at=("stack",), power=-1.0)
