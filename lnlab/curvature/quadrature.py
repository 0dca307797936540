"""``vᵀ f(H) v = Σ_j w_j f(θ_j)``: Gauss quadrature of a spectrum, exact for polynomials of degree 2m - 1.

With T = S diag(θ) Sᵀ of m steps of Lanczos from a unit vector v, the nodes are the Ritz values θ_j and the weights the
squares of the first components, w_j = S_1j² (Golub and Meurant, 2010; Ubaru, Chen and Saad, 2017). The Ritz vector
y_j = Qᵀ S_j has the residual ‖H y_j - θ_j y_j‖ = β_m |S_mj|, and an eigenvalue lies no farther than that from θ_j.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from lnlab.curvature.lanczos import Tridiagonal, Until


@dataclass(frozen=True)
class Quadrature:
    """A discrete measure on the axis, in float64 on the CPU.

    Attributes:
        nodes: in increasing order (nodes,).
        weights: of sum 1 (nodes,).
        residuals: the largest distance from each node to an eigenvalue (nodes,).
    """

    nodes: Tensor
    weights: Tensor
    residuals: Tensor

    def moment(self, power: int) -> float:
        """``Σ_j w_j θ_j^power``."""
        return float(self.weights @ self.nodes**power)


def gauss(tridiagonal: Tridiagonal, steps: int | None = None) -> Quadrature:
    """Nodes and weights of a run, or of its first ``steps``."""
    nodes, vectors = torch.linalg.eigh(tridiagonal.matrix(steps))
    last = tridiagonal.betas[:steps][-1]
    return Quadrature(nodes, vectors[0].square(), last * vectors[-1].abs())


def mean_quadrature(quadratures: Sequence[Quadrature]) -> Quadrature:
    """The mean of measures, with every node of each and its share of the weight."""
    nodes, weights, residuals = (
        torch.cat([getattr(q, part) for q in quadratures]) for part in ("nodes", "weights", "residuals")
    )
    order = nodes.argsort()
    return Quadrature(nodes[order], weights[order] / len(quadratures), residuals[order])


def wasserstein_distance(one: Quadrature, other: Quadrature) -> float:
    """``∫ |F - G|``: the Wasserstein-1 distance of two measures, in units of the axis."""
    places = torch.cat([one.nodes, other.nodes])
    order = places.argsort()
    steps = torch.cat([one.weights, -other.weights])[order].cumsum(0)
    return float(places[order].diff() @ steps[:-1].abs())  # beyond the last place F - G is 0


def measure_converged(tolerance: float, back: int = 5) -> Until:
    """Make the ``until`` of ``lanczos`` that ends a run once its measure has converged.

    It has converged if two things are at most ``tolerance`` times its range: the Wasserstein distance from the measure
    ``back`` steps earlier, and the distance from both of its ends to the nearest eigenvalue.
    """

    def until(run: Tridiagonal) -> bool:
        steps = len(run.alphas)
        # Not at every step, as each comparison diagonalizes two matrices.
        if steps <= back or steps % back:
            return False
        now = gauss(run)
        allowed = tolerance * float(now.nodes[-1] - now.nodes[0])
        end_residual = max(now.residuals[0].item(), now.residuals[-1].item())
        return end_residual <= allowed and wasserstein_distance(now, gauss(run, steps - back)) <= allowed

    return until
