"""Which eigenvalues stand alone at the ends of a spectrum, and how far the bulk between them reaches.

A Ritz value is *isolated* if its residual is at most a tenth of its distance to the next one: an eigenvalue lies within
the residual (Paige, 1971), so two isolated values belong to two eigenvalues. *Outliers* are the isolated ones from
either end inward up to the first that is not. All others are bulk. More steps isolate more, so a count is a lower
bound.

Only Lanczos runs whose vectors stayed orthogonal to 1e-8 count, as ghosts would otherwise be counted. A matrix that was
diagonalized does not count: every eigenvalue is known there, and by this rule none is more isolated than the next.
"""

import polars as pl

from lnlab.analyse.quantities.curvature import SPECTRAL_FACTS
from lnlab.analyse.quantities.spectra import (
    LOSS_UNIT,
    SPECTRUM_KEYS,
    as_spectral_quantity,
    full_batch_spectra,
    of_density,
)
from lnlab.facts import QuantityWords
from lnlab.select.quantity import quantities
from lnlab.tables import Results

ISOLATION_RATIO = 0.1
ORTHOGONALITY_LIMIT = 1e-8
_DRAW = (*SPECTRUM_KEYS, "part", "draw")


def mark_outliers(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows of the table ``spectra`` that the rule applies to, sorted, with ``outlier``: above 1, below -1, else 0.

    A draw of a single node has none.
    """
    nodes = pl.len().over(_DRAW)
    eligible = of_density(rows).filter(
        (pl.col("orthogonality_loss") <= ORTHOGONALITY_LIMIT) & (nodes < pl.col("size")) & (nodes > 1)
    )
    ordered = eligible.sort(*_DRAW, "node", maintain_order=True)
    gap = pl.col("node").diff()
    nearest = pl.min_horizontal(gap, gap.shift(-1))
    isolated = (pl.col("residual") <= ISOLATION_RATIO * nearest).cast(pl.Int8)
    # 1 as long as every node from that end on is isolated.
    above, below = isolated.cum_min(reverse=True), isolated.cum_min()
    return ordered.with_columns((above - below).over(_DRAW).alias("outlier"))


@quantities.register(
    "outliers",
    words=QuantityWords("outliers", "at least", "isolated eigenvalues at either end"),
    **SPECTRAL_FACTS,
)
def outliers(results: Results) -> pl.DataFrame:
    """``#{θ isolated at an end}``: eigenvalues that stand alone, in the draw with the most (Sagun et al., 2017)."""
    counts = (
        mark_outliers(full_batch_spectra(results))
        .group_by(*SPECTRUM_KEYS, "draw", maintain_order=True)
        .agg(value=(pl.col("outlier") != 0).sum())
    )
    largest = counts.group_by(SPECTRUM_KEYS, maintain_order=True).agg(pl.col("value").max().cast(pl.Float64))
    return as_spectral_quantity(largest, "outliers")


@quantities.register(
    "bulk_radius",
    words=QuantityWords("bulk radius", LOSS_UNIT, "how far from 0 what is no outlier reaches"),
    **SPECTRAL_FACTS,
)
def bulk_radius(results: Results) -> pl.DataFrame:
    """``max |θ| of what is no outlier``: how far the bulk reaches, in the draw with the least (Sagun et al., 2017)."""
    bulk = mark_outliers(full_batch_spectra(results)).filter(pl.col("outlier") == 0)
    radii = bulk.group_by(*SPECTRUM_KEYS, "draw", maintain_order=True).agg(value=pl.col("node").abs().max())
    return as_spectral_quantity(
        radii.group_by(SPECTRUM_KEYS, maintain_order=True).agg(pl.col("value").min()), "bulk_radius"
    )
