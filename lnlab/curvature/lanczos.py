"""``H Q = Q T + β_m q_{m+1} e_mᵀ``: T tridiagonal, Q orthonormal, of a symmetric H given by products (Lanczos, 1950).

    w = H q_j - β_{j-1} q_{j-1},    α_j = q_jᵀ w,    w <- w - α_j q_j,    β_j = ‖w‖,    q_{j+1} = w / β_j.

In floating-point arithmetic the new vector loses its orthogonality to the old ones where a Ritz value has converged,
and T has copies of that value, called ghosts (Paige, 1971). So w is orthogonalized twice against all of them before β_j
is taken, which is enough (Giraud, Langou and Rozložník, 2005). Without this only two vectors are stored. That is the
variant of Papyan (2018), whose densities and moments are correct, as ghosts share one weight, but whose counts are not.
Recurrences are in float64 for products in any format.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from lnlab.curvature.guards import NOT_FINITE, CurvatureError

Matvec = Callable[[Tensor], Tensor]
"""The product with each row of a block: (rows, size) -> (rows, size)."""

NEGLIGIBLE = 1e-12
"""A β below this share of ‖T‖ is rounding: the vectors span a space that H does not leave."""


@dataclass(frozen=True)
class Tridiagonal:
    """The tridiagonal matrix T of one run, in float64 on the CPU.

    Attributes:
        alphas: the diagonal of T (steps,).
        betas: ‖w‖ after each step (steps,). All but the last are the off-diagonal of T.
        orthogonality_loss: the largest entry of |Q Qᵀ - I|, or None where Q was not stored.
        basis: Q with one vector per row (steps, size), on the device of the products, or None unless requested.
    """

    alphas: Tensor
    betas: Tensor
    orthogonality_loss: float | None = None
    basis: Tensor | None = None

    def matrix(self, steps: int | None = None) -> Tensor:
        """T, or its leading block after fewer steps: (steps, steps)."""
        a, b = self.alphas[:steps], self.betas[:steps][:-1]
        return torch.diag(a) + torch.diag(b, 1) + torch.diag(b, -1)


Until = Callable[[Tridiagonal], bool]


def lanczos(
    matvec: Matvec,
    starts: Tensor | Sequence[Tensor],
    steps: int,
    *,
    reorthogonalize: bool = True,
    until: Until | None = None,
    basis: bool = False,
) -> list[Tridiagonal]:
    """Make one run per start vector. All advance together, so that they share their passes.

    A run ends after ``steps``, at the size of the matrix, when its vectors span an invariant space, or when ``until``
    is true of its T. With re-orthogonalization a run stores ``steps`` vectors in float64.

    Args:
        matvec: the product. Its result is converted to float64.
        starts: start vectors of any nonzero length: (runs, size).
        steps: the most products of a run.
        reorthogonalize: False gives Papyan's variant.
        until: evaluated after every step.
        basis: whether the runs return Q.

    Raises:
        ValueError: no steps, a start of length 0 or not finite, a product that is not finite, or Q without
            re-orthogonalization.
    """
    if steps < 1 or (basis and not reorthogonalize):
        raise ValueError(f"found steps={steps}, basis={basis}, expected a step, and a basis only if it is kept")
    runs = [_Run(start, steps, reorthogonalize) for start in starts]
    while active := [run for run in runs if not run.ended]:
        products = matvec(torch.stack([run.vector for run in active]))
        for run, product in zip(active, products, strict=True):
            run.advance(product.double())
            if until is not None and not run.ended:
                run.ended = until(run.tridiagonal())
            if run.ended and not basis:
                run.free_basis()
    return [run.tridiagonal(basis=True) for run in runs]


class _Run:
    """The recurrence of one start vector."""

    def __init__(self, start: Tensor, steps: int, reorthogonalize: bool) -> None:
        vector = start.double()
        length = torch.linalg.vector_norm(vector)
        if not (length > 0 and length.isfinite()):
            raise ValueError(f"found a start vector of length {length.item()}, expected one that is finite and not 0")
        self.vector = vector / length
        self.previous = torch.zeros_like(vector)
        self.steps = min(steps, vector.numel())
        self.basis = vector.new_empty(self.steps, vector.numel()) if reorthogonalize else None
        self.alphas: list[float] = []
        self.betas: list[float] = []
        self.loss: float | None = None
        self.ended = False

    def advance(self, w: Tensor) -> None:
        """Make one step, with ``w = H vector``."""
        finite = w.isfinite().all()
        step = len(self.alphas)
        beta = self.betas[-1] if self.betas else 0.0
        w = w - beta * self.previous
        alpha = torch.dot(w, self.vector)
        w = w - alpha * self.vector
        if self.basis is not None:
            self.basis[step] = self.vector
            for _ in range(2):  # twice is enough (Parlett, 1980): once leaves what cancellation has lost
                w = w - (self.basis[: step + 1] @ w) @ self.basis[: step + 1]
        # One transfer a step: a GPU would wait for each.
        is_finite, *coefficients = torch.stack([finite.double(), alpha, torch.linalg.vector_norm(w)]).tolist()
        if not is_finite:
            raise CurvatureError("found a product that is not finite, expected a finite one", NOT_FINITE)
        self.alphas.append(coefficients[0])
        self.betas.append(coefficients[1])
        # ‖T‖ up to a factor of three: the largest sum of a row, of which β stands on both sides of α.
        scale = max(abs(a) + b for a, b in zip(self.alphas, self.betas, strict=True)) + max(self.betas)
        # A remainder of rounding alone: the vectors span an invariant space, and no next one is to be had.
        self.ended = step + 1 == self.steps or self.betas[-1] <= NEGLIGIBLE * scale
        if not self.ended:
            self.previous, self.vector = self.vector, w / self.betas[-1]

    def tridiagonal(self, *, basis: bool = False) -> Tridiagonal:
        alphas, betas = (torch.tensor(values, dtype=torch.float64) for values in (self.alphas, self.betas))
        if not basis:
            return Tridiagonal(alphas, betas)
        vectors = None if self.basis is None else self.basis[: len(alphas)]
        return Tridiagonal(alphas, betas, self.loss if vectors is None else orthogonality_loss(vectors), vectors)

    def free_basis(self) -> None:
        """Free the vectors, after their loss of orthogonality has been computed."""
        if self.basis is not None:
            self.loss = orthogonality_loss(self.basis[: len(self.alphas)])
        self.basis = None


def orthogonality_loss(basis: Tensor) -> float:
    """The largest entry of |Q Qᵀ - I| for Q with one vector per row."""
    eye = torch.eye(len(basis), dtype=basis.dtype, device=basis.device)
    return float((basis @ basis.T - eye).abs().max())
