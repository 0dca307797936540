"""Trace, norm, ends and density of one symmetric H from a budget of P products, each third of them spent once.

    H Q = Q T + β q eᵀ            m steps of Lanczos from a random start, the basis Q kept
    A B = B T₂ + β₂ b eᵀ          m steps on the complement, A = P₁ H P₁ with P₁ = 1 - Q Qᵀ
    t_i = d uᵀ H u,  f_i = d ‖P₂ H u‖²     for unit u drawn in the complement of both, of d = n - 2m dimensions

    tr H    = tr T + tr T₂ + mean t_i
    ‖H‖_F²  = ‖T‖² + 2 β² + ‖T₂‖² + 2 β₂² + mean f_i

Both are unbiased for any m, as the blocks of H between the three spaces are known: Q couples to its complement only
through β, and B to the rest only through β₂. The part of H that Lanczos has found, converged or not, does not enter the
variance of the draws. This is deflation as in Hutch++ (Meyer et al., 2021), by a Krylov space (Chen and Hallman, 2023).
The density has an atom of 1/n at each Ritz value of T, and the Gauss quadrature of T₂ with the weight of the
complement, (n - m)/n (Golub and Meurant, 2010). Leaving β out of it changes H by rank two, so that a count is off by at
most one.

Intervals are Student's over the draws. They hold for this matrix and do not cover replicates of a model.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from lnlab.curvature.dense import dense, eigenvalues
from lnlab.curvature.estimates import Estimate, mean_estimate
from lnlab.curvature.guards import NOT_FINITE, CurvatureError
from lnlab.curvature.lanczos import Tridiagonal, lanczos, orthogonality_loss
from lnlab.curvature.operators import Operator
from lnlab.curvature.quadrature import Quadrature, gauss
from lnlab.curvature.starts import start

TOGETHER = 8
"""Draws that share a pass through memory. Lanczos takes one vector a product: a block would spoil the ends."""
LEAST_DRAWS = 8
"""Before an error estimated from draws may end them."""
STEPS_BEFORE_DRAWS = 40
"""Lanczos steps of each of the two runs, where draws go on until an error is reached."""


@dataclass(frozen=True)
class BudgetSpectrum:
    """Estimates of the spectrum of a matrix from a budget of products.

    Attributes:
        size: n.
        density: nodes and weights, which sum to 1. An eigenvalue lies within ``residuals`` of each node.
        trace: tr H.
        squared_norm: ‖H‖_F².
        traces: the estimate of tr H by each draw (draws,).
        squared_norms: the estimate of ‖H‖_F² by each draw (draws,).
        products: number of products made.
        orthogonality_loss: the largest entry of |V Vᵀ - I| for all vectors of both runs. None where H was diagonalized.
    """

    size: int
    density: Quadrature
    trace: Estimate
    squared_norm: Estimate
    traces: Tensor
    squared_norms: Tensor
    products: int
    orthogonality_loss: float | None

    def draws(self) -> list[Quadrature]:
        """Each draw as the symmetric measure of two nodes whose moments are its trace and its squared norm."""
        measures = []
        for t, f in zip(self.traces.tolist(), self.squared_norms.tolist(), strict=True):
            radius = math.sqrt(f / self.size)
            lean = t / (self.size * radius) if radius else 0.0
            nodes = torch.tensor([-radius, radius], dtype=torch.float64)
            weights = torch.tensor([1 - lean, 1 + lean], dtype=torch.float64) / 2
            measures.append(Quadrature(nodes, weights, torch.full((2,), math.nan, dtype=torch.float64)))
        return measures


def lanczos_steps(products: int, *, relative_error: float | None, vectors: int | None) -> int:
    """Steps of each of the two runs of Lanczos. The arguments are those of ``budget_spectrum``."""
    wanted = min(products // 3, products if relative_error is None else STEPS_BEFORE_DRAWS)
    return wanted if vectors is None else min(wanted, max(vectors // 2, 2))  # half of the memory for either basis


def budget_spectrum(
    operator: Operator,
    generator: Callable[[int], Generator],
    *,
    products: int,
    relative_error: float | None = None,
    vectors: int | None = None,
) -> BudgetSpectrum:
    """Estimate the spectrum of an operator with at most ``products`` products.

    It is exact if the operator has at most that many rows.

    Args:
        operator: only its ``size``, ``device`` and ``matvec`` are used.
        generator: maps a number to a generator on the CPU. Numbers 0 and 1 start the runs of Lanczos, and the others
            are draws.
        products: the budget P.
        relative_error: ends the draws once the half-widths of the 95 % intervals are within this share. The share is of
            ‖H‖_F for ‖H‖_F, and of the larger of |tr H| and ‖H‖_F for tr H, as a trace may be near 0.
        vectors: the most vectors of both bases together that fit into memory, at least 4. None means no limit.

    Raises:
        ValueError: fewer than 6 products.
        CurvatureError: a product is not finite.
    """
    if products < 6:
        raise ValueError(f"found products={products}, expected at least 6: two steps of each run, and two draws")
    n = operator.size
    if n <= products:  # the whole matrix costs no more, and has no error
        whole = eigenvalues(dense(operator.matvec, n, operator.device))
        trace, square = float(whole.nodes.sum()), float(whole.nodes.square().sum())
        return BudgetSpectrum(
            size=n,
            density=whole,
            trace=Estimate(trace, 0.0, 1),
            squared_norm=Estimate(square, 0.0, 1),
            traces=torch.tensor([trace], dtype=torch.float64),
            squared_norms=torch.tensor([square], dtype=torch.float64),
            products=n,
            orthogonality_loss=None,
        )
    steps = lanczos_steps(products, relative_error=relative_error, vectors=vectors)
    first = _start(operator, generator(0), [])
    (outer,) = lanczos(operator.matvec, first[None], steps, basis=True)
    bases = [_vectors(outer)]

    def complement(block: Tensor) -> Tensor:
        return _project(operator.matvec(block).double(), bases[:1])

    (inner,) = lanczos(complement, _start(operator, generator(1), bases)[None], steps, basis=True)
    bases.append(_vectors(inner))
    left = n - len(bases[0]) - len(bases[1])  # at least a third of n, as there are more rows than products
    known_trace = float(outer.alphas.sum() + inner.alphas.sum())
    known_square = _square(outer) + _square(inner)
    traces: list[float] = []
    squares: list[float] = []
    spent = len(outer.alphas) + len(inner.alphas)
    while spent < products:
        count = min(TOGETHER, products - spent)
        rows = torch.stack([_start(operator, generator(2 + len(traces) + i), bases) for i in range(count)])
        images = operator.matvec(rows).double()
        if not images.isfinite().all():
            raise CurvatureError("found a product that is not finite, expected a finite one", NOT_FINITE)
        traces += (known_trace + left * (rows * images).sum(1)).tolist()
        squares += (known_square + left * _project(images, bases).square().sum(1)).tolist()
        spent += count
        if relative_error is not None and len(traces) >= LEAST_DRAWS and _within(relative_error, traces, squares):
            break
    # Each basis by itself, and the two against each other: side by side they would be in memory twice.
    losses = [*map(orthogonality_loss, bases), float((bases[0] @ bases[1].T).abs().max())]
    return BudgetSpectrum(
        size=n,
        density=_density(outer, inner, n),
        trace=mean_estimate(traces),
        squared_norm=mean_estimate(squares),
        traces=torch.tensor(traces, dtype=torch.float64),
        squared_norms=torch.tensor(squares, dtype=torch.float64),
        products=spent,
        orthogonality_loss=max(losses),
    )


def _vectors(run: Tridiagonal) -> Tensor:
    if run.basis is None:
        raise ValueError("a run whose basis is kept has one")
    return run.basis


def _project(rows: Tensor, bases: list[Tensor]) -> Tensor:
    """Project rows onto the complement of the bases, twice because of cancellation (Parlett, 1980)."""
    for _ in range(2):
        for basis in bases:
            rows = rows - (rows @ basis.T) @ basis
    return rows


def _start(operator: Operator, generator: Generator, bases: list[Tensor]) -> Tensor:
    """A random unit vector orthogonal to the bases, (n,): uniform on the sphere of their complement."""
    drawn = start(operator.size, generator).to(operator.device)
    return torch.nn.functional.normalize(_project(drawn[None], bases)[0], dim=0)


def _square(run: Tridiagonal) -> float:
    """``‖T‖_F² + 2 β_m²``: the squared entries of a run's block, and of those that join it to its complement."""
    return float(run.alphas.square().sum() + 2 * run.betas.square().sum())


def _density(outer: Tridiagonal, inner: Tridiagonal, n: int) -> Quadrature:
    m = len(outer.alphas)
    ritz, rest = gauss(outer), gauss(inner)
    # A node of the complement is one of A. As an eigenvalue of H it is off by what joins it to Q, which is at most β.
    joined = (rest.residuals.square() + outer.betas[-1].square()).sqrt()
    nodes = torch.cat([ritz.nodes, rest.nodes])
    weights = torch.cat([torch.full_like(ritz.nodes, 1 / n), rest.weights * ((n - m) / n)])
    residuals = torch.cat([ritz.residuals, joined])
    order = nodes.argsort()
    return Quadrature(nodes[order], weights[order], residuals[order])


def _within(relative_error: float, traces: list[float], squares: list[float]) -> bool:
    """Whether both intervals are narrow enough. The relative width of a norm is half that of its square."""
    trace, square = mean_estimate(traces), mean_estimate(squares)
    reach = [(high - low) / 2 for low, high in (trace.interval(), square.interval())]
    norm = math.sqrt(max(square.value, 0.0))
    return reach[0] <= relative_error * max(abs(trace.value), norm) and reach[1] <= 2 * relative_error * square.value
