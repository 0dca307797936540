"""``p(λ) = 1/n Σ_i δ(λ - λ_i) ≈ 1/K Σ_k Σ_j w_kj δ(λ - θ_kj)``: stochastic Lanczos quadrature (Ghorbani et al., 2019).

The result are nodes and weights; smoothing them to a curve is analysis, as its width is a choice. A small matrix is
diagonalized instead.
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
        quadratures: one a draw; if it is exact, one of every eigenvalue.
        exact: whether the matrix was diagonalized.
        orthogonality_loss: the largest of the draws, or None where no basis was stored. Outliers may be counted where
            it is near 0.
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
    """The spectrum by one draw a generator, or exactly below ``dense_below`` coordinates.

    Args:
        operator: only its ``size``, ``device`` and ``matvec`` are used.
        generators: on the CPU; each draws one start vector.
        steps: of Lanczos in each draw.
        distribution: of start vectors.
        reorthogonalize: False is Papyan's variant, which is never replaced by the whole matrix.
        until: as ``quadrature.measure_converged``; ends a draw early.
        block: how many draws share their passes, and have their vectors in memory at the same time; None: all.
        dense_below: 0 makes no dense matrix.

    Raises:
        ValueError: no draw; or as ``lanczos``.
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
