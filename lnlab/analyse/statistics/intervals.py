"""Intervals over seeds, at 95 % or at the level of a look at a claim, where ``a`` is (1 - level) / 2.

    mean ± t(1-a, n-1) s/√n                                   (Student, 1908), on the logarithms of positive quantities
    mean ± t(1-a, f) √V                                       (Bell & McCaffrey, 2002), with replicates in clusters
    [x_(k), x_(n+1-k)], P(Bin(n, 1/2) < k) <= a               (Thompson, 1936), of the median
    [B⁻¹(a; k, n-k+1), B⁻¹(1-a; k+1, n-k)]                     (Clopper & Pearson, 1934), k of n

No bootstrap: over 3, 5 and 10 seeds a nominal 95 % percentile bootstrap covers 0.78, 0.84 and 0.89.
"""

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import scipy  # scipy.special takes a while to import, and loads when it is first used

MAX_SEEDS_NEEDED = 10_000
"""Beyond so many no number is stated."""


@dataclass(frozen=True)
class Interval:
    """A Student interval over seeds. On the log scale all but ``sd`` are exponentiated (a geometric mean).

    Attributes:
        estimate: the mean.
        low: lower end.
        high: upper end.
        sd: standard deviation over seeds, on the scale where the mean was taken.
        n: seeds, or as many independent ones as clusters of them are worth.
    """

    estimate: float
    low: float
    high: float
    sd: float
    n: float


def t_interval(values: Sequence[float] | np.ndarray, *, log: bool = False, level: float = 0.95) -> Interval:
    """``mean ± t s/√n`` over seeds, on the logarithms with ``log``. One seed has an unbounded interval.

    Raises:
        ValueError: there is no value, one is not finite, or ``log`` and one is not positive.
    """
    x = np.asarray(values, dtype=float)
    if not x.size or not np.isfinite(x).all() or (log and (x <= 0).any()):
        raise ValueError(f"found {x.tolist()}, expected finite{' positive' if log else ''} values")
    x = np.log(x) if log else x
    n = x.size
    mean = float(x.mean())
    sd = float(x.std(ddof=1)) if n > 1 else math.inf
    half_width = t_quantile(n - 1, level) * sd / math.sqrt(n) if n > 1 else math.inf
    bounds = np.array([mean, mean - half_width, mean + half_width])
    # An end beyond the largest float is infinite, and needs no warning.
    with np.errstate(over="ignore"):
        estimate, low, high = map(float, np.exp(bounds) if log else bounds)
    return Interval(estimate=estimate, low=low, high=high, sd=sd, n=n)


def clustered_interval(
    values: Sequence[float] | np.ndarray, clusters: Sequence[str], *, log: bool = False, level: float = 0.95
) -> Interval:
    """``mean ± t √V`` where values of one cluster are not independent (Bell & McCaffrey, 2002).

    ``V = Σ_g (Σ_i e_gi)² / (N² (1 - n_g/N))`` over clusters of n_g values, and t has the degrees of freedom f of V.
    With clusters of one size this is Student's interval of their means. ``n`` is f + 1, and ``sd`` belongs to it, so
    that both say of a test what those of ``t_interval`` say. One cluster has an unbounded interval.

    Raises:
        ValueError: as ``t_interval``.
    """
    whole = t_interval(values, log=log, level=level)
    x = np.log(np.asarray(values, dtype=float)) if log else np.asarray(values, dtype=float)
    _, of_value, counts = np.unique(np.asarray(clusters), return_inverse=True, return_counts=True)
    if counts.size < 2:
        return replace(whole, low=0.0 if log else -math.inf, high=math.inf, sd=math.inf, n=1)
    weights = 1 / (x.size * np.sqrt(1 - counts / x.size))
    sums = np.bincount(of_value, weights=x - x.mean())
    error = float(np.sqrt(np.sum((weights * sums) ** 2)))
    product = np.diag(weights**2 * counts) - np.outer(weights * counts, weights * counts) / x.size
    freedom = float(np.trace(product) ** 2 / np.sum(product**2))
    half_width = t_quantile(freedom, level) * error
    bounds = np.array([x.mean() - half_width, x.mean() + half_width])
    with np.errstate(over="ignore"):
        low, high = map(float, np.exp(bounds) if log else bounds)
    return replace(whole, low=low, high=high, sd=error * math.sqrt(freedom + 1), n=freedom + 1)


def median_interval(values: Sequence[float] | np.ndarray, level: float = 0.95) -> Interval:
    """The median over seeds between two order statistics, whatever the distribution (Thompson, 1936).

    It covers at least ``level``. Fewer than six seeds have an unbounded interval at 95 %. ``sd`` is that of the values.
    A value may be infinite: a seed that ranks first or last.

    Raises:
        ValueError: there is no value, or one is not a number.
    """
    x = np.sort(np.asarray(values, dtype=float))
    n = x.size
    if not n or np.isnan(x).any():
        raise ValueError(f"found {x.tolist()}, expected numbers")
    k = int(np.count_nonzero(scipy.special.bdtr(np.arange(n // 2), n, 0.5) <= (1 - level) / 2))
    low, high = (float(x[k - 1]), float(x[n - k])) if k else (-math.inf, math.inf)
    middle = x[(n - 1) // 2], x[n // 2]
    estimate = float(middle[0] if middle[0] == middle[1] else np.mean(middle))
    sd = float(x.std(ddof=1)) if n > 1 and np.isfinite(x).all() else math.inf
    return Interval(estimate=estimate, low=low, high=high, sd=sd, n=n)


def t_quantile(freedom: float, level: float = 0.95) -> float:
    """The t quantile of a two-sided interval: t((1+level)/2, freedom)."""
    return float(scipy.special.stdtrit(freedom, (1 + level) / 2))


def student_p_value(distance: float, sd: float, n: float) -> float:
    """One-sided p: the chance of a mean that far beyond the truth, ``1 - F(distance √n / s)`` (Student)."""
    if sd == 0:
        return 0.0 if distance > 0 else 1.0
    return float(scipy.special.stdtr(n - 1, -distance * math.sqrt(n) / sd))


def clopper_pearson(k: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """The exact interval of a share, from ``k`` of ``n`` seeds (Clopper & Pearson, 1934).

    Raises:
        ValueError: not 0 <= k <= n with n >= 1.
    """
    if n < 1 or not 0 <= k <= n:
        raise ValueError(f"found {k} of {n}, expected 0 <= k <= n")
    tail_level = (1 - level) / 2
    low = float(scipy.special.betaincinv(k, n - k + 1, tail_level)) if k else 0.0
    high = float(scipy.special.betaincinv(k + 1, n - k, 1 - tail_level)) if k < n else 1.0
    return low, high


def sign_test_p_value(k: int, n: int) -> float:
    """One-sided p of the sign test: the chance of ``k`` or fewer of ``n`` where each is as likely as not."""
    return float(scipy.special.bdtr(k, n, 0.5))


def seeds_needed(sd: float, distance: float, level: float = 0.95) -> int | None:
    """The smallest n with ``t((1+level)/2, n-1) s/√n < distance``, or None if it exceeds ``MAX_SEEDS_NEEDED``."""
    half_widths = _half_widths(level)  # which fall, and begin at two seeds
    n = 2 + bisect_left(half_widths, True, key=lambda half_width: half_width * sd < distance)
    return n if n <= MAX_SEEDS_NEEDED else None


@lru_cache
def _half_widths(level: float) -> np.ndarray:
    """``t((1+level)/2, n-1)/√n`` for n = 2 ... ``MAX_SEEDS_NEEDED``."""
    n = np.arange(2, MAX_SEEDS_NEEDED + 1)
    half_widths: np.ndarray = scipy.special.stdtrit(n - 1, (1 + level) / 2) / np.sqrt(n)
    return half_widths


def sd_range(sd: float, n: float) -> tuple[float, float]:
    """Where the true standard deviation lies if n seeds show ``sd``: the 20 and 80 % limits of chi-square."""
    above, below = (sd * math.sqrt((n - 1) / float(scipy.special.chdtri(n - 1, p))) for p in (0.8, 0.2))
    return below, above
