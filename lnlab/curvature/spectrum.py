"""``p(λ) = 1/n Σ_i δ(λ - λ_i) ≈ 1/K Σ_k Σ_j w_kj δ(λ - θ_kj)``: stochastic Lanczos quadrature (Ghorbani et al., 2019).

The result consists of nodes and weights. Smoothing them to a curve is left to the analysis, as the width is a choice. A
small matrix is diagonalized instead.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Generator

from lnlab.curvature.dense import dense, eigenvalues
from lnlab.curvature.lanczos import Until, lanczos
from lnlab.curvature.operators import Operator
from lnlab.curvature.quadrature import Quadrature, gauss
from lnlab.curvature.starts import StartDistribution, start

DENSE_BELOW = 2_000
"""Below this many coordinates the whole matrix is computed: n products, many at once; Lanczos needs some 900."""


@dataclass(frozen=True)
class Spectrum:
    """The spectrum of an operator.

    Attributes:
        size: n.
        quadratures: one per draw, or a single one of all eigenvalues if it is exact.
        exact: whether the matrix was diagonalized.
        orthogonality_loss: the largest of the draws, or None where no basis was stored. Outliers may be counted only
            where it is near 0.
    """

    size: int
    quadratures: tuple[Quadrature, ...]
    exact: bool
    orthogonality_loss: float | None = None


def spectrum(
    operator: Operator,
    generators: Sequence[Generator],
    *,
    steps: int = 90,
    distribution: StartDistribution = "gaussian",
    reorthogonalize: bool = True,
    until: Until | None = None,
    block: int | None = None,
    dense_below: int = DENSE_BELOW,
) -> Spectrum:
    """The spectrum from one draw per generator, or exactly below ``dense_below`` coordinates.

    Args:
        operator: only its ``size``, ``device`` and ``matvec`` are used.
        generators: generators on the CPU. Each draws one start vector.
        steps: Lanczos steps of each draw.
        distribution: distribution of the start vectors.
        reorthogonalize: False gives Papyan's variant, which is never replaced by the whole matrix.
        until: ends a draw early, as ``quadrature.measure_converged`` does.
        block: number of draws that share their passes and have their vectors in memory at the same time. None means
            all.
        dense_below: the size below which the matrix is diagonalized. 0 means never.

    Raises:
        ValueError: there is no generator, or as ``lanczos``.
    """
    if reorthogonalize and operator.size < dense_below:
        matrix = dense(operator.matvec, operator.size, operator.device)
        return Spectrum(operator.size, (eigenvalues(matrix),), True)
    if not generators:
        raise ValueError("found no generator, expected one a draw")
    runs = []
    for first in range(0, len(generators), block or len(generators)):
        group = generators[first : first + (block or len(generators))]
        starts = torch.stack([start(operator.size, generator, distribution) for generator in group]).to(operator.device)
        runs += lanczos(operator.matvec, starts, steps, reorthogonalize=reorthogonalize, until=until)
    losses = [run.orthogonality_loss for run in runs if run.orthogonality_loss is not None]
    return Spectrum(operator.size, tuple(map(gauss, runs)), False, max(losses, default=None))
