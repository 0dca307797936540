"""Local exponents: ``e_i = log(y_(i+1) / y_i) / log(x_(i+1) / x_i)`` in each seed, for curves that are no power laws.

"The exponent is in R" then says that every e_i is, so that the sentence holds at every scale. Supported iff Student's
interval over seeds of each e_i lies in R (intersection-union, no correction: Berger, 1982). Contradicted iff each lies
beyond the same edge of R: no part of the curve does what the sentence says. That is intersection-union again, so that
either error keeps its 2.5 %. One e_i beyond an edge refutes "at every scale", but not what was said of the curve as a
whole: where the means over seeds lie on both sides of an edge, nothing is decided.

A fitted slope is a mean of the e_i with weights that are positive and the same in every seed, and its interval is no
wider than that mean of theirs. So these verdicts are among those of the slope's interval: they add no wrong ones to it.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from lnlab.analyse.statistics.intervals import Interval, t_interval
from lnlab.claims.intersection_union import Member
from lnlab.claims.region import Region, number_text


def local_exponents(x: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """The exponents between neighbouring levels, as (seeds, levels - 1).

    Args:
        x: (levels,), positive, in ascending order.
        matrix: (seeds, levels), positive.
    """
    exponents: np.ndarray = np.diff(np.log(matrix)) / np.diff(np.log(x))
    return exponents


def local_exponent_member(fitted: Member, exponents: np.ndarray) -> Member | None:
    """The local exponent that decides, as the one statement to judge; None where some lie inside and some do not.

    It is the one nearest to the edge, in standard errors: if its interval lies in the region, or beyond an edge, so do
    all others; and to contradict, its p is the largest of theirs.

    Args:
        fitted: the statement about the fitted exponent; its remark says why it is none.
        exponents: as from ``local_exponents``, in the order of the seeds of that statement.
    """
    intervals = [t_interval(column) for column in exponents.T]
    pair = _deciding_pair(intervals, fitted.allowed)
    if pair is None:
        return None
    numbers = dict(zip(fitted.sample.numbers, exponents[:, pair].tolist(), strict=True))
    means = [interval.estimate for interval in intervals]
    rank = {means.index(max(means)): "largest", means.index(min(means)): "smallest"}.get(pair, "deciding")
    return replace(
        fitted,
        statistic=f"{rank} local {fitted.statistic}",
        sample=replace(fitted.sample, numbers=numbers),
        remark=f"{fitted.remark}; {local_range_text(exponents)}",
    )


def local_range_text(exponents: np.ndarray) -> str:
    """The smallest and the largest local exponent with their intervals, in words."""
    intervals = sorted((t_interval(column) for column in exponents.T), key=lambda interval: interval.estimate)
    low, high = (
        f"{number_text(i.estimate)} ({number_text(i.low)} to {number_text(i.high)})"
        for i in (intervals[0], intervals[-1])
    )
    return f"local exponents, from each level to the next, run from {low} to {high}"


def _deciding_pair(intervals: Sequence[Interval], allowed: Region) -> int | None:
    """Which interval is nearest to the edge; None where the means lie on both sides of an edge."""
    beyond = [_standard_errors_beyond(interval, allowed) for interval in intervals]
    means = [interval.estimate for interval in intervals]
    if all(mean in allowed for mean in means):
        return beyond.index(max(beyond))
    if max(means) < allowed.bottom or min(means) > allowed.top:
        return beyond.index(min(beyond))
    return None


def _standard_errors_beyond(interval: Interval, allowed: Region) -> float:
    """How far the mean lies beyond the nearest edge, but for the root of the number of seeds; negative inside."""
    distance = max(interval.estimate - allowed.top, allowed.bottom - interval.estimate)
    if interval.sd == 0:
        return math.copysign(math.inf, distance) if distance else 0.0
    return distance / interval.sd
