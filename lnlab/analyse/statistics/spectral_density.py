"""``p_σ(t) = Σ_j w_j N(t; θ_j, σ²)``: the density of a spectrum, smoothed from its nodes and weights.

The standard deviation σ is a choice, and a curve says nothing below it: it is always explicit, and part of the curve.
Curves that are laid over each other need one σ, so that the two customary ones, which follow the range of their own
spectrum, are for a spectrum alone (Ghorbani et al., 2019; Papyan, 2018). What needs no σ is the weight outside a bound.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

GRID_REACH = 5.0
"""A grid goes so many σ beyond the outermost nodes; less than 1e-6 of the weight lies farther."""


@dataclass(frozen=True)
class SmoothedSpectrum:
    """A smoothed spectrum.

    Attributes:
        grid: places on the axis, rising.
        values: the density there, per unit of the axis.
        width: the standard deviation of the kernel.
    """

    grid: np.ndarray
    values: np.ndarray
    width: float


def smoothed_spectrum(nodes: ArrayLike, weights: ArrayLike, width: float, *, points: int = 1024) -> SmoothedSpectrum:
    """The density at so many places over all nodes; of several draws with weights that sum to 1 over all of them.

    Narrow peaks fall between the places of a coarse grid: its step should not exceed the width.

    Raises:
        ValueError: the width is not positive, the grid too coarse for it, or a node not finite.
    """
    theta, w = np.asarray(nodes, dtype=float), np.asarray(weights, dtype=float)
    if not width > 0 or theta.size == 0 or not np.isfinite(theta).all():
        raise ValueError(f"found the width {width} and {theta.size} nodes, expected a positive one and finite nodes")
    grid = np.linspace(theta.min() - GRID_REACH * width, theta.max() + GRID_REACH * width, points)
    if grid[1] - grid[0] > width:
        raise ValueError(f"found steps of {grid[1] - grid[0]:.3g}, expected at most the width {width:.3g}")
    return SmoothedSpectrum(grid, density_on_grid(grid, theta, w, width), width)


def density_on_grid(grid: np.ndarray, nodes: ArrayLike, weights: ArrayLike, width: float) -> np.ndarray:
    """The density at the places of the grid, per unit of the axis."""
    values = np.zeros(len(grid))
    for node, weight in zip(np.asarray(nodes, dtype=float), np.asarray(weights, dtype=float), strict=True):
        values += weight * np.exp(-0.5 * ((grid - node) / width) ** 2)
    return values / (width * math.sqrt(2 * math.pi))


def ghorbani_width(low: float, high: float, variance: float = 1e-5) -> float:
    """``sqrt(variance · max(1, high - low))``: what the reference code calls sigma squared is a variance per range."""
    return math.sqrt(variance * max(1.0, high - low))


def papyan_width(low: float, high: float, steps: int, *, kappa: float = 3.0, margin: float = 0.05) -> float:
    """``d · 2 / ((m - 1) sqrt(8 ln κ))`` for m steps, where d is half the range with its margin on either side."""
    half = (1 + 2 * margin) * (high - low) / 2
    return half * 2 / ((steps - 1) * math.sqrt(8 * math.log(kappa)))


def weight_outside(nodes: ArrayLike, weights: ArrayLike, bound: float) -> float:
    """The share of the spectrum with |λ| > bound, with one bound for all that are compared."""
    return float(np.asarray(weights, dtype=float)[np.abs(np.asarray(nodes, dtype=float)) > bound].sum())
