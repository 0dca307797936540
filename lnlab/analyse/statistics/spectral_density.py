"""The cumulative density of a spectrum, read from the nodes and weights of a quadrature, with its bounds.

It needs no kernel. It is read through the midpoints of its stairs, ``F(θ_j) = Σ_{i<j} w_i + w_j / 2``, which lie
between the stairs (Chebyshev, Markov and Stieltjes) and are two to three times as close.
"""

import numpy as np
from numpy.typing import ArrayLike


def signed_log(x: ArrayLike, least: float) -> np.ndarray:
    """``sign(x) log10(1 + |x| / least)``: powers of ten on both sides of 0, and about linear within ``least`` of it."""
    numbers = np.asarray(x, dtype=float)
    logs: np.ndarray = np.sign(numbers) * np.log10(1 + np.abs(numbers) / least)
    return logs


def weight_below(places: np.ndarray, nodes: ArrayLike, weights: ArrayLike) -> np.ndarray:
    """The weight below each place: through the midpoints of the stairs at the nodes, and linear between them."""
    nodes, weights = _sorted(nodes, weights)
    if not len(nodes):
        return np.zeros(len(places))
    total = weights.cumsum()
    # Half of a node's own weight lies below it: the midpoint of its stair.
    below: np.ndarray = np.interp(places, nodes, total - weights / 2, left=0.0, right=total[-1])
    return below


def weight_bounds(places: np.ndarray, nodes: ArrayLike, weights: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """The least and the most weight below each place of any measure with the moments of a Gauss quadrature.

    At a node these are the stairs without its weight and with it (Chebyshev, Markov and Stieltjes). Between two nodes
    the least is that of the node below, and the most that of the node above.
    """
    nodes, weights = _sorted(nodes, weights)
    total = np.concatenate([[0.0], weights.cumsum()])
    at = np.searchsorted(nodes, places, side="right")  # so many nodes lie below a place or on it
    return total[np.maximum(at - 1, 0)], total[np.minimum(at + 1, len(nodes))]


def _sorted(nodes: ArrayLike, weights: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    places, shares = np.asarray(nodes, dtype=float), np.asarray(weights, dtype=float)
    order = places.argsort(kind="stable")
    return places[order], shares[order]
