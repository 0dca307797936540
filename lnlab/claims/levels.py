"""What claims over several levels share: which seeds have a logarithm at every level, and whether levels suffice."""

from collections.abc import Callable

import numpy as np

from lnlab.analyse.select.series import Series
from lnlab.claims.claim import Finding
from lnlab.claims.region import Region
from lnlab.claims.sample import Sample, notes, of_one, waiting
from lnlab.errors import LabError, Problem

LEAST_LEVELS = 4


def numeric(series: Series, over: str, *, positive: bool) -> np.ndarray:
    """The levels as numbers.

    Raises:
        LabError: they are words, or one must be positive and is not.
    """
    words = [x for x in series.levels if not isinstance(x, float) or (positive and x <= 0)]
    if words:
        kind = "positive numbers" if positive else "numbers"
        raise LabError(Problem("over", f"{over} is {words[0]!r} here", f"this kind of claim needs {kind}"))
    return np.array(series.levels, dtype=float)


def unfit(series: Series, levels: np.ndarray, over: str, span: float = 1.0, least: int = LEAST_LEVELS) -> str | None:
    """Why the levels do not carry a claim, or None: ``least`` of them, and from first to last a factor ``span``."""
    if series.pending:
        return waiting(series.pending, series.total)
    if not series.seeds:
        return f"no seed of {series.total} has all its numbers"
    if len(levels) < least:
        return f"{len(levels)} levels of {over}; this needs {least}, by rule"
    if span > 1 and levels[-1] < span * levels[0]:
        return f"{over} spans a factor of {levels[-1] / levels[0]:.3g}; this needs {span:g}, by rule"
    return None


def unfitted(series: Series, statistic: str, reason: str, allowed: Region) -> Finding:
    """The finding where the levels do not carry a claim."""
    full_reason = reason + notes(of_one(series, {}, log=True))
    n = len(series.seeds)
    return Finding("undecided", statistic, full_reason, region_low=allowed.low, region_high=allowed.high, n=n)


def per_seed(series: Series, statistic: Callable[[np.ndarray], np.ndarray], *, log: bool) -> tuple[Sample, np.ndarray]:
    """The ``statistic`` of each seed's row of numbers, and the usable rows (seeds, levels).

    A seed is usable if it is positive at every level; the others are counted as excluded.
    """
    matrix = series.matrix
    usable: np.ndarray = np.all(matrix > 0, axis=1)
    values = iter(statistic(matrix[usable]).tolist())
    is_usable = dict(zip(series.seeds, usable.tolist(), strict=True))
    numbers = {seed: next(values) if is_usable[seed] else None for seed in series.seeds}
    return of_one(series, numbers, log=log), matrix[usable]
