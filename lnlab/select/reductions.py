"""From the numbers along x to one number: ``first last max min mean median spread variation growth last/first``.

``spread`` is max/min, ``variation`` the standard deviation over the mean (of these numbers and no others, so over their
count), ``growth`` the median ratio of neighbours. A ratio with a zero denominator has no value (None).
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from statistics import fmean, median, pstdev
from typing import Literal

Reduction = Literal["first", "last", "max", "min", "mean", "median", "spread", "variation", "growth", "last/first"]

RATIO_REDUCTIONS: tuple[Reduction, ...] = ("spread", "variation", "growth", "last/first")
"""What is left of these is a quotient, whatever the unit of the numbers."""


def _ratio(above: float, below: float) -> float | None:
    """``above / below``, or None where ``below`` is zero."""
    return above / below if below else None


def median_growth(values: Sequence[float]) -> float | None:
    """The median of each value over the one before, or None if one of those is zero or there is one value."""
    ratios = [_ratio(b, a) for a, b in pairwise(values)]
    present = [r for r in ratios if r is not None]
    return median(present) if present and len(present) == len(ratios) else None


REDUCTIONS: Mapping[Reduction, Callable[[Sequence[float]], float | None]] = {
    "first": lambda values: values[0],
    "last": lambda values: values[-1],
    "max": max,
    "min": min,
    "mean": fmean,
    "median": median,
    "spread": lambda values: _ratio(max(values), min(values)),
    "variation": lambda values: _ratio(pstdev(values), fmean(values)),
    "growth": median_growth,
    "last/first": lambda values: _ratio(values[-1], values[0]),
}
