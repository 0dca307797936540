"""``H = [H e_1, ..., H e_n]``: the whole of a small matrix, and all of its eigenvalues.

Rounding leaves an antisymmetric part A. The symmetric part is diagonalized, and by Weyl's inequality no eigenvalue is
moved by more than ‖A‖_F, which is reported as the residual.
"""

import torch
from torch import Tensor

from lnlab.curvature.guards import NOT_FINITE, CurvatureError
from lnlab.curvature.lanczos import Matvec
from lnlab.curvature.quadrature import Quadrature

_AT_ONCE = 256


def dense(matvec: Matvec, size: int, device: torch.device | None = None) -> Tensor:
    """The matrix from its products with the coordinate axes: (size, size), float64, in general not exactly symmetric.

    Raises:
        CurvatureError: a product is not finite.
    """
    axes = torch.eye(size, dtype=torch.float64, device=device)
    matrix = torch.cat([matvec(block).double() for block in torch.split(axes, _AT_ONCE)]).T
    if not matrix.isfinite().all():
        raise CurvatureError("found a product that is not finite, expected a finite one", NOT_FINITE)
    return matrix


def eigenvalues(matrix: Tensor) -> Quadrature:
    """Every eigenvalue of the symmetric part as a node of weight 1/n."""
    antisymmetric = (matrix - matrix.T) / 2
    nodes = torch.linalg.eigvalsh(matrix - antisymmetric).cpu()
    weights = torch.full_like(nodes, 1 / len(nodes))
    return Quadrature(nodes, weights, torch.full_like(nodes, float(torch.linalg.matrix_norm(antisymmetric))))
