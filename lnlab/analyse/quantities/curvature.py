"""Quantities of a spectrum of curvature: its ends, its moments, its negative part. They have an operator and a scope.

A raw eigenvalue depends on how a model is parametrized: halve a weight and double the one behind it, and the function
is the same and its Hessian is not. Multiplied by ‖θ‖² of the scope it is a curvature per relative step. Where models
differ in their number of parameters P, what is compared is ‖H‖_F² = P E λ², not E λ².
"""

from typing import Any

import polars as pl

from lnlab.analyse.quantities.spectra import (
    LOSS_UNIT,
    SPECTRUM_KEYS,
    as_spectral_quantity,
    full_batch_spectra,
    of_density,
    spectral_number,
)
from lnlab.facts import QuantityWords
from lnlab.select.quantity import quantities
from lnlab.tables import Results

SPECTRAL_FACTS: dict[str, Any] = {"of": (), "table": "spectra"}
"""Tags of what is made of the table of spectra and of nothing else."""
EIGENVALUE_BOUNDS = (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 2.0, 5.0, 10.0)
"""Where eigenvalues are counted, the same for all that are compared."""


def _rows(results: Results, name: str) -> pl.DataFrame:
    return as_spectral_quantity(spectral_number(full_batch_spectra(results), name), name)


@quantities.register(
    "largest_eigenvalue",
    words=QuantityWords("largest eigenvalue", LOSS_UNIT, "largest Ritz value of all draws"),
    **SPECTRAL_FACTS,
)
def largest_eigenvalue(results: Results) -> pl.DataFrame:
    """``λ_max``: the largest Ritz value of all draws, so from below: the sharpness (Hochreiter & Schmidhuber, 1997)."""
    return _rows(results, "largest_eigenvalue")


@quantities.register(
    "smallest_eigenvalue",
    words=QuantityWords("smallest eigenvalue", LOSS_UNIT, "smallest Ritz value of all draws"),
    **SPECTRAL_FACTS,
)
def smallest_eigenvalue(results: Results) -> pl.DataFrame:
    """``λ_min``: the smallest Ritz value of all draws, so from above (Lanczos, 1950)."""
    return _rows(results, "smallest_eigenvalue")


@quantities.register(
    "negative_curvature",
    words=QuantityWords("most negative curvature", LOSS_UNIT, "smallest eigenvalue without its sign"),
    **SPECTRAL_FACTS,
)
def negative_curvature(results: Results) -> pl.DataFrame:
    """``-λ_min``: how steeply the loss falls away along its most negative direction (Dauphin et al., 2014)."""
    return _rows(results, "negative_curvature")


@quantities.register(
    "end_residual",
    words=QuantityWords("relative residual", "of the spectral radius", "how far an end may lie from an eigenvalue"),
    **SPECTRAL_FACTS,
)
def end_residual(results: Results) -> pl.DataFrame:
    """``max(r_max, r_min) / max |λ|``: how far an end may lie from an eigenvalue, as a share (Paige, 1971)."""
    return _rows(results, "end_residual")


@quantities.register(
    "end_symmetry",
    words=QuantityWords("symmetry of the ends", "ratio", "most negative eigenvalue over the largest, without its sign"),
    **SPECTRAL_FACTS,
)
def end_symmetry(results: Results) -> pl.DataFrame:
    """``-λ_min / λ_max``: 0 of a GGN, 1 where both ends are equally far (Ghorbani et al., 2019)."""
    return _rows(results, "end_symmetry")


@quantities.register(
    "curvature_trace", words=QuantityWords("trace", LOSS_UNIT, "sum of all eigenvalues"), **SPECTRAL_FACTS
)
def curvature_trace(results: Results) -> pl.DataFrame:
    """``tr H = P Σ_j w_j θ_j``: the sum of all eigenvalues (Hutchinson, 1990)."""
    return _rows(results, "curvature_trace")


@quantities.register(
    "frobenius_norm",
    words=QuantityWords("Frobenius norm", LOSS_UNIT, "square root of the sum of all squared eigenvalues"),
    **SPECTRAL_FACTS,
)
def frobenius_norm(results: Results) -> pl.DataFrame:
    """``‖H‖_F = √(P Σ_j w_j θ_j²)``: comparable between models of different size (Ubaru et al., 2017)."""
    return _rows(results, "frobenius_norm")


@quantities.register(
    "negative_mass",
    words=QuantityWords("negative mass", "of all directions", "share of the eigenvalues that are negative"),
    **SPECTRAL_FACTS,
)
def negative_mass(results: Results) -> pl.DataFrame:
    """``Σ w_j over θ_j < -10⁻⁶ max |θ|``: the share of directions of negative curvature (Ghorbani et al., 2019).

    Below a millionth of the largest node float32 is rounding, and a node has no sign.
    """
    return _rows(results, "negative_mass")


@quantities.register(
    "negative_share",
    words=QuantityWords("negative share", "of the squared norm", "share of the squared eigenvalues that are negative"),
    **SPECTRAL_FACTS,
)
def negative_share(results: Results) -> pl.DataFrame:
    """``Σ w_j θ_j² over θ_j < 0 / Σ w_j θ_j²``: of ‖H‖_F² what is negative; 1/2 is symmetric (Wigner, 1955)."""
    return _rows(results, "negative_share")


@quantities.register(
    "effective_rank",
    words=QuantityWords("effective rank", "eigenvalues", "how many equal eigenvalues would make the same norm"),
    **SPECTRAL_FACTS,
)
def effective_rank(results: Results) -> pl.DataFrame:
    """``(tr H²)² / tr H⁴``: how many equal eigenvalues would carry ‖H‖_F² as well (Bell & Dean, 1970)."""
    return _rows(results, "effective_rank")


@quantities.register(
    "relative_sharpness",
    words=QuantityWords("relative sharpness", "{nats} per {item}", "largest eigenvalue times ‖θ‖² of the scope"),
    **SPECTRAL_FACTS,
)
def relative_sharpness(results: Results) -> pl.DataFrame:
    """``λ_max ‖θ‖²``, θ being the scope: twice the loss of a relative step there (Tsuzuku et al., 2020)."""
    return _rows(results, "relative_sharpness")


@quantities.register(
    "eigenvalues_beyond",
    words=QuantityWords("eigenvalues beyond x", "number", "how many eigenvalues lie farther than x from 0"),
    x=EIGENVALUE_BOUNDS,
    **SPECTRAL_FACTS,
)
def eigenvalues_beyond(results: Results) -> pl.DataFrame:
    """``P Σ w_j over |θ_j| > x``: how many eigenvalues lie beyond x, from 10⁻⁴ to 10 (Golub & Meurant, 2010).

    By weight, so that it needs no kernel, and a ghost counts nothing. x is 10⁻⁴, 10⁻³, 10⁻², 0.1, 1, 2, 5 and 10.
    """
    rows = of_density(full_batch_spectra(results))
    draws = pl.col("draw").n_unique()
    counts = [_beyond(rows, bound, draws) for bound in EIGENVALUE_BOUNDS]
    return as_spectral_quantity(pl.concat(counts), "eigenvalues_beyond")


def _beyond(rows: pl.DataFrame, bound: float, draws: pl.Expr) -> pl.DataFrame:
    weight = pl.col("weight").filter(pl.col("node").abs() > bound).sum()
    count = pl.col("size").first() * weight / draws
    return rows.group_by(SPECTRUM_KEYS, maintain_order=True).agg(x=pl.lit(bound), value=count)
