"""Quantities of a spectrum of curvature: its ends, and its squares. They have an operator and a scope.

A raw eigenvalue depends on how a model is parametrized: halve a weight and double the one behind it, and the function
is the same and its Hessian is not. Multiplied by ‖θ‖² of the scope it is a curvature per relative step. Models that
differ in their number of parameters P are compared by ‖H‖_F² = P E λ², not by E λ².
"""

from collections.abc import Sequence
from typing import Any

import polars as pl

from lnlab.analyse.quantities.spectra import (
    LOSS_UNIT,
    SPECTRUM_KEYS,
    as_spectral_quantity,
    full_batch_spectra,
    of_density,
    of_moments,
)
from lnlab.facts import QuantityWords
from lnlab.select.quantity import quantities, register_alike
from lnlab.tables import Results

SPECTRAL_FACTS: dict[str, Any] = {"of": (), "table": "spectra"}
"""Tags of what is made of the table of spectra and of nothing else."""
EIGENVALUE_BOUNDS = (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 2.0, 5.0, 10.0)
"""Where eigenvalues are counted, the same for all that are compared."""
_NODE, _SHARE, _SIZE = pl.col("node"), pl.col("share"), pl.col("size").first()
_SQUARES = (_SHARE * _NODE**2).sum()
_QUANTITIES = (
    (
        "largest_eigenvalue",
        _NODE.max(),
        QuantityWords("largest eigenvalue", LOSS_UNIT, "largest Ritz value of all draws"),
        "``λ_max``: the largest Ritz value of all draws, so from below: the sharpness "
        "(Hochreiter & Schmidhuber, 1997).",
    ),
    (
        "smallest_eigenvalue",
        _NODE.min(),
        QuantityWords("smallest eigenvalue", LOSS_UNIT, "smallest Ritz value of all draws"),
        "``λ_min``: the smallest Ritz value of all draws, so from above (Lanczos, 1950).",
    ),
    (
        "negative_curvature",
        -_NODE.min(),
        QuantityWords("most negative curvature", LOSS_UNIT, "absolute value of the smallest eigenvalue"),
        "``-λ_min``: how steeply the loss falls away along its most negative direction (Dauphin et al., 2014).",
    ),
    (
        "end_symmetry",
        -_NODE.min() / _NODE.max(),
        QuantityWords(
            "symmetry of the ends", "ratio", "absolute value of the most negative eigenvalue over the largest"
        ),
        "``-λ_min / λ_max``: 0 of a GGN, 1 where both ends are equally far (Ghorbani et al., 2019).",
    ),
    (
        "frobenius_norm",
        (_SIZE * _SQUARES).sqrt(),
        QuantityWords("Frobenius norm", LOSS_UNIT, "square root of the sum of all squared eigenvalues"),
        "``‖H‖_F = √(P Σ_j w_j θ_j²)``: comparable between models of different size (Ubaru et al., 2017).",
    ),
    (
        "relative_sharpness",
        _NODE.max() * pl.col("squared_norm").first(),
        QuantityWords("relative sharpness", "{nats} per {item}", "largest eigenvalue times ‖θ‖² of the scope"),
        "``λ_max ‖θ‖²``, θ being the scope: twice the loss of a relative step there (Tsuzuku et al., 2020).",
    ),
)
"""Of the rows of one spectrum, ``share`` being the weight among all its draws."""
_NUMBERS = {name: number for name, number, _, _ in _QUANTITIES}


def spectral_number(rows: pl.DataFrame, name: str, by: Sequence[str] = SPECTRUM_KEYS) -> pl.DataFrame:
    """One number of every group of spectra: the columns ``by``, and ``value``.

    Args:
        rows: of the table ``spectra``.
        name: of a quantity here.
        by: the columns that identify a spectrum. With ``draw`` each draw is one, with ``part`` each part.
    """
    # Of a budget, draws tell the squares better than the density does, and nothing else.
    rows = of_moments(rows) if name == "frobenius_norm" else of_density(rows)
    # The weights of each draw add up to 1, and those of all draws together must.
    share = (pl.col("weight") / pl.col("draw").n_unique().over(by)).alias("share")
    number = _NUMBERS[name].cast(pl.Float64).alias("value")
    return rows.with_columns(share).group_by(by, maintain_order=True).agg(number)


def _rows(name: str, _number: pl.Expr, results: Results) -> pl.DataFrame:
    return as_spectral_quantity(spectral_number(full_batch_spectra(results), name), name)


register_alike(_rows, _QUANTITIES, **SPECTRAL_FACTS)


@quantities.register(
    "eigenvalues_beyond",
    words=QuantityWords("eigenvalues beyond x", "number", "how many eigenvalues lie farther than x from 0"),
    **SPECTRAL_FACTS,
)
def eigenvalues_beyond(results: Results) -> pl.DataFrame:
    """``P Σ w_j over |θ_j| > x``: how many eigenvalues lie beyond x, from 10⁻⁴ to 10 (Golub & Meurant, 2010).

    By weight, so that it needs no kernel, and a ghost counts nothing. x is 10⁻⁴, 10⁻³, 10⁻², 0.1, 1, 2, 5 and 10.
    """
    rows = of_density(full_batch_spectra(results))
    counts = []
    for bound in EIGENVALUE_BOUNDS:
        weight = pl.col("weight").filter(pl.col("node").abs() > bound).sum()
        count = pl.col("size").first() * weight / pl.col("draw").n_unique()
        counts.append(rows.group_by(SPECTRUM_KEYS, maintain_order=True).agg(x=pl.lit(bound), value=count))
    return as_spectral_quantity(pl.concat(counts), "eigenvalues_beyond")
