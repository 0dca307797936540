"""``L = Σ_j j Σ_s R_sj``: Page's test for a monotone trend with seeds as blocks (Page, 1963).

R_sj is the rank of level j within seed s. The null distribution of one block (all orders equally likely) is counted
exactly by dynamic programming over which ranks are taken, and convolved over seeds. Beyond 14 levels the normal limit
``E L = n k (k+1)²/4``, ``Var L = n k² (k+1)² (k-1)/144`` is used. scipy's ``page_trend_test`` enumerates all k! orders
of a block, which is feasible up to about 9 levels. The tests compare the two up to there.
"""

import math
from functools import lru_cache

import numpy as np
import scipy  # scipy.special takes a while to import, and loads when it is first used

MAX_EXACT_LEVELS = 14


def page_test(matrix: np.ndarray) -> tuple[float, float]:
    """Return the one-sided p values of a rising and of a falling trend, in this order.

    Args:
        matrix: (seeds, levels), levels in the order of the trend. Ties get mean ranks.
    """
    n, k = matrix.shape
    total = float(_mean_ranks(matrix).sum(0) @ np.arange(1, k + 1))
    if k > MAX_EXACT_LEVELS:
        sd = math.sqrt(n * k**2 * (k + 1) ** 2 * (k - 1) / 144)
        z = (total - n * k * (k + 1) ** 2 / 4) / sd
        return float(scipy.special.ndtr(-z)), float(scipy.special.ndtr(z))
    null = _null_of_blocks(n, k)
    minimum = n * _minimum(k)
    # Ties can make L a half-integer. It is rounded against each trend, so that neither p is too small.
    return float(null[math.floor(total) - minimum :].sum()), float(null[: math.ceil(total) - minimum + 1].sum())


def _mean_ranks(matrix: np.ndarray) -> np.ndarray:
    """The ranks within each row, ties with the mean of theirs, as of ``scipy.stats``, which takes a second to load."""
    one, other = matrix[:, :, None], matrix[:, None, :]
    smaller, equal = (other < one).sum(2), (other == one).sum(2)
    ranks: np.ndarray = smaller + (equal + 1) / 2
    return ranks


def _minimum(k: int) -> int:
    """The smallest L of one block: its ranks fall from each level to the next."""
    return k * (k + 1) * (k + 2) // 6


@lru_cache
def _null_of_blocks(n: int, k: int) -> np.ndarray:
    """The probability of each L, from the smallest to the largest, for n blocks of k levels."""
    null = np.ones(1)
    for _ in range(n):
        null = np.convolve(null, _null_distribution(k))
    return null


@lru_cache
def _null_distribution(k: int) -> np.ndarray:
    """The probability of each L, from the smallest to the largest, for one block of k levels in random order."""
    maximum = k * (k + 1) * (2 * k + 1) // 6
    masks = np.arange(2**k)
    n_taken = np.array([mask.bit_count() for mask in range(2**k)])
    # By subset of ranks: in how many orders it can fill the first levels, by what these add to L.
    smaller, counts = masks[:1], np.zeros((1, maximum + 1))
    counts[0, 0] = 1
    for level in range(1, k + 1):
        subsets = masks[n_taken == level]
        new_counts = np.zeros((len(subsets), maximum + 1))
        for rank in range(1, k + 1):
            free = (smaller >> (rank - 1)) & 1 == 0
            index = np.searchsorted(subsets, smaller[free] | 1 << (rank - 1))
            new_counts[index, level * rank :] += counts[free, : maximum + 1 - level * rank]
        smaller, counts = subsets, new_counts
    return counts[0, _minimum(k) :] / math.factorial(k)
