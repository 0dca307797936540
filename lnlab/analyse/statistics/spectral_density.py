"""``p_σ(t) = Σ_j w_j N(t; θ_j, σ²)``: the density of a spectrum, smoothed from its nodes and weights.

The standard deviation σ is a choice, and a curve says nothing below it: it is always explicit, and part of the curve.
Curves that are laid over each other need one σ; the customary one follows the range of its own spectrum (Papyan, 2018).
"""

import math

import numpy as np
from numpy.typing import ArrayLike

GRID_REACH = 5.0
"""A grid goes so many σ beyond the outermost nodes; less than 1e-6 of the weight lies farther."""


def density_on_grid(grid: np.ndarray, nodes: ArrayLike, weights: ArrayLike, width: float) -> np.ndarray:
    """The density at the places of the grid, per unit of the axis."""
    values = np.zeros(len(grid))
    for node, weight in zip(np.asarray(nodes, dtype=float), np.asarray(weights, dtype=float), strict=True):
        values += weight * np.exp(-0.5 * ((grid - node) / width) ** 2)
    return values / (width * math.sqrt(2 * math.pi))


def papyan_width(low: float, high: float, steps: int, *, kappa: float = 3.0, margin: float = 0.05) -> float:
    """``d · 2 / ((m - 1) sqrt(8 ln κ))`` for m steps, where d is half the range with its margin on either side."""
    half = (1 + 2 * margin) * (high - low) / 2
    return half * 2 / ((steps - 1) * math.sqrt(8 * math.log(kappa)))
