"""What follows from the dependencies β_ii of sublayers on their own branches (Liu et al., 2020, Section 4).

When every branch changes a little, ``E‖ΔF‖² ≈ C Σ_i β_ii²``, where C is the change of one normalized branch. In Post-LN
β_ii² is a constant of the sublayer's type, ``c/(1 + c)``, where c is the variance that the branch adds to a stream of
variance 1. In Pre-LN the stream is the sum of everything so far, so that
``1/β_ii² = (Var x_0 + Σ_{j<=i} Var f_j) / Var f_i`` is linear in i.
"""

import polars as pl

from lnlab.facts import QuantityWords
from lnlab.select.quantity import SITE, STATE, quantities, quantity_product, stored_rows
from lnlab.select.sublayers import number_sublayers
from lnlab.tables import Results

_STACK = [*STATE, "stack"]
_TYPE = [*_STACK, "sublayer"]


@quantities.register(
    "dependency_sum",
    words=QuantityWords("sum of squared dependencies", "Σ β²", "over the sublayers of a stack, each on its own branch"),
    of=("own_dependency",),
)
def dependency_sum(results: Results) -> pl.DataFrame:
    """``Σ_i β_ii²``: what a stack amplifies small changes of its branches by (Liu et al., 2020, Section 4.2)."""
    sums = _squares(results).group_by(_STACK, maintain_order=True).agg(pl.col("value").sum())
    return _quantity(sums, "dependency_sum")


@quantities.register(
    "output_change_per_dependency",
    words=QuantityWords(
        "output change over dependencies",
        "squared norm",
        "change of the output by a random step, over the sum of squared dependencies",
    ),
    of=("own_dependency", "output_change_random"),
)
def output_change_per_dependency(results: Results) -> pl.DataFrame:
    """``E‖ΔF‖² / Σ_i β_ii²``: change by a random step over what dependencies predict (Liu et al., 2020)."""
    changes = stored_rows(results, "output_change_random")
    return quantity_product(changes, dependency_sum(results), "output_change_per_dependency", at=("stack",), power=-1.0)


@quantities.register(
    "dependency_thirds",
    words=QuantityWords(
        "ratio of thirds", "β² of the last third over that of the first", "of the squared own dependency"
    ),
    of=("own_dependency",),
)
def dependency_thirds(results: Results) -> pl.DataFrame:
    """``mean β_ii² of the last third / first third``: of the sublayers of a stack (Liu et al., 2020, Section 4)."""
    x = pl.col("i")
    size = pl.col("i").max().over(_STACK)
    # In whole numbers, so that no rounding decides which third a sublayer is in.
    first, last = (_squares(results).filter(third) for third in (x * 3 <= size, x * 3 > 2 * size))
    means = [rows.group_by(_STACK, maintain_order=True).agg(pl.col("value").mean()) for rows in (first, last)]
    thirds = means[1].join(means[0], on=_STACK, nulls_equal=True, maintain_order="left")
    return _quantity(thirds.with_columns(pl.col("value") / pl.col("value_right")), "dependency_thirds")


@quantities.register(
    "inverse_dependency_slope",
    words=QuantityWords("slope of 1/β²", "per sublayer", "over the sublayers of one type"),
    of=("own_dependency_inverse_sq",),
)
def inverse_dependency_slope(results: Results) -> pl.DataFrame:
    """``slope of 1/β_ii² on i``: over the sublayers of one type, by least squares (Liu et al., 2020, Section 4)."""
    x, y = pl.col("i"), pl.col("value")
    slopes = _inverses(results).group_by(_TYPE, maintain_order=True).agg(value=pl.cov(x, y) / x.var())
    return _quantity(slopes, "inverse_dependency_slope")


@quantities.register(
    "inverse_dependency_r2",
    words=QuantityWords("R² of 1/β²", "share of the variance", "of a straight line over the sublayers of one type"),
    of=("own_dependency_inverse_sq",),
)
def inverse_dependency_r2(results: Results) -> pl.DataFrame:
    """``R²`` of 1/β_ii² on i: over the sublayers of one type, 1 on a straight line (Liu et al., 2020, Section 4)."""
    shares = _inverses(results).group_by(_TYPE, maintain_order=True).agg(value=pl.corr("i", "value") ** 2)
    return _quantity(shares, "inverse_dependency_r2")


def _squares(results: Results) -> pl.DataFrame:
    """β_ii² of every sublayer, with its number ``i``."""
    return number_sublayers(stored_rows(results, "own_dependency")).with_columns(pl.col("value") ** 2)


def _inverses(results: Results) -> pl.DataFrame:
    """1/β_ii² of every sublayer, with its number ``i``."""
    return number_sublayers(stored_rows(results, "own_dependency_inverse_sq"))


def _quantity(rows: pl.DataFrame, name: str) -> pl.DataFrame:
    """Rows of a quantity. Site columns that they lack are null, and the tensor of a whole stack is ``out``."""
    defaults = {
        "layer": pl.lit(None, pl.Int32),
        "sublayer": pl.lit(None, pl.String),
        "tensor": pl.lit("out"),
        "index": pl.lit(None, pl.Int32),
    }
    missing = [value.alias(column) for column, value in defaults.items() if column not in rows.columns]
    return rows.with_columns(*missing, quantity=pl.lit(name)).select(*STATE, "quantity", *SITE, "value")
