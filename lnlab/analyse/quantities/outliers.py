"""Which eigenvalues stand alone at the ends of a spectrum.

A Ritz value is *isolated* if its residual is at most a tenth of its distance to the next one: an eigenvalue lies within
the residual (Paige, 1971), so two isolated values belong to two eigenvalues. *Outliers* are the isolated ones from
either end inward up to the first that is not. All others are bulk. More steps isolate more, so a count is a lower
bound.

Only Lanczos runs whose vectors stayed orthogonal to 1e-8 count, as ghosts would otherwise be counted. A matrix that was
diagonalized does not count: every eigenvalue is known there, and by this rule none is more isolated than the next.
"""

import polars as pl

from lnlab.analyse.quantities.spectra import SPECTRUM_KEYS, of_density

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
