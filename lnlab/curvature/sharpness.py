"""``λ_max = max_v vᵀ H v / vᵀ v``: the largest eigenvalue, by Lanczos until its residual is small (Lanczos, 1950).

The largest Ritz value rises with every step and is never above λ_max. An eigenvalue lies within its residual. The
iteration ends once the residual is a small share of the Ritz value and the last steps have not moved the value either.
With a start vector nearly orthogonal to the largest eigenvector, it would stay near another eigenvalue for a while.
"""

from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from lnlab.curvature.lanczos import Tridiagonal, lanczos
from lnlab.curvature.operators import Operator
from lnlab.curvature.quadrature import gauss
from lnlab.curvature.starts import start

BACK = 5
"""So many steps must not have moved the largest Ritz value."""


@dataclass(frozen=True)
class Sharpness:
    """The largest eigenvalue of an operator.

    Attributes:
        value: λ_max from below.
        residual: the largest distance from it to an eigenvalue.
        steps: number of products made.
        vector: the Ritz vector that has this value (size,), of length 1.
    """

    value: float
    residual: float
    steps: int
    vector: Tensor


def lanczos_sharpness(
    operator: Operator, generator: Generator, *, steps: int = 100, tolerance: float = 1e-2
) -> Sharpness:
    """Estimate the largest eigenvalue to a relative ``tolerance``, or as well as ``steps`` products allow.

    Args:
        operator: only its ``size``, ``device`` and ``matvec`` are used.
        generator: generator on the CPU, for the start vector.
        steps: the most products.
        tolerance: bound on the residual and on the change in the last steps, as shares of the value.

    Raises:
        ValueError: as ``lanczos``.
    """
    first = start(operator.size, generator)[None].to(operator.device)

    def converged(run: Tridiagonal) -> bool:
        done = len(run.alphas)
        if done <= BACK:
            return False
        now, before = gauss(run), gauss(run, done - BACK)
        allowed = tolerance * abs(float(now.nodes[-1]))
        return float(now.residuals[-1]) <= allowed and float(now.nodes[-1] - before.nodes[-1]) <= allowed

    (run,) = lanczos(operator.matvec, first, steps, until=converged, basis=True)
    quadrature = gauss(run)
    if run.basis is None:
        raise ValueError("a run without its basis")
    of_largest = torch.linalg.eigh(run.matrix()).eigenvectors[:, -1].to(run.basis.device)
    return Sharpness(
        float(quadrature.nodes[-1]), float(quadrature.residuals[-1]), len(run.alphas), of_largest @ run.basis
    )
