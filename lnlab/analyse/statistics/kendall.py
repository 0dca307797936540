"""``τ = Σ_(i<j) sign(y_j - y_i) / (k (k-1)/2)``: how monotone one series is (Kendall, 1938). Ties count 0."""

import numpy as np


def kendall_tau(matrix: np.ndarray) -> np.ndarray:
    """τ of each row against the order of its columns: 1 rising, -1 falling.

    Args:
        matrix: (seeds, levels), at least two levels.
    """
    later, earlier = np.tril_indices(matrix.shape[1], -1)
    signs = np.sign(matrix[:, later] - matrix[:, earlier])
    taus: np.ndarray = signs.mean(1)
    return taus
