"""Local exponents: ``e_i = log(y_(i+1) / y_i) / log(x_(i+1) / x_i)`` in each seed, for curves that are no power laws.

"The exponent is in R" then says that every e_i is, so that the sentence holds at every scale. It is supported iff the
interval over seeds of each e_i lies in R (intersection-union, no correction: Berger, 1982). It is contradicted iff each
lies beyond the same edge of R: no part of the curve does what the sentence says. That is intersection-union again, so
that either error keeps its 2.5 %. One e_i beyond an edge refutes "at every scale", but not what was said of the curve
as a whole: where the means over seeds lie on both sides of an edge, nothing is decided.

A fitted slope is a mean of the e_i with weights that are positive and the same in every seed, and its interval is no
wider than that mean of theirs. So these verdicts are among those of the slope's interval: they add no wrong ones to it.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from lnlab.analyse.statistics.intervals import Interval
from lnlab.claims.criterion import ONE_LOOK, Criterion
from lnlab.claims.intersection_union import Member
from lnlab.claims.region import number_text
from lnlab.claims.student import interval_of


def local_exponents(x: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """The exponents between neighbouring levels, as (seeds, levels - 1).

    Args:
        x: (levels,), positive, in ascending order.
        matrix: (seeds, levels), positive.
    """
    exponents: np.ndarray = np.diff(np.log(matrix)) / np.diff(np.log(x))
    return exponents


def local_exponent_member(fitted: Member, exponents: np.ndarray, criterion: Criterion = ONE_LOOK) -> Member | None:
    """The local exponent that decides, as the statement to judge, or None where only some lie inside.

    It is the one nearest to the edge, in standard errors. If its interval lies in the region, or beyond an edge, so do
    all others. For a contradiction its p is the largest of theirs.

    Args:
        fitted: the statement about the fitted exponent. Its remark says why the curve is no power law.
        exponents: as from ``local_exponents``, in the order of the seeds of that statement.
        criterion: level and estimand. For medians the nearest to the edge is the one whose interval reaches furthest.
    """
    samples = [
        replace(fitted.sample, numbers=dict(zip(fitted.sample.numbers, column.tolist(), strict=True)))
        for column in exponents.T
    ]
    intervals = [interval_of(sample, criterion) for sample in samples]
    means = [interval.estimate for interval in intervals]
    allowed = fitted.allowed
    inside = all(mean in allowed for mean in means)
    if not (inside or max(means) < allowed.bottom or min(means) > allowed.top):
        return None
    if criterion.about == "mean":
        # In standard deviations over seeds; where all seeds agree, any distance is beyond or inside for certain.
        distances = [max(i.estimate - allowed.top, allowed.bottom - i.estimate) for i in intervals]
        beyond = [
            gap / i.sd if i.sd else math.copysign(math.inf, gap) if gap else 0.0
            for gap, i in zip(distances, intervals, strict=True)
        ]
    elif inside:
        beyond = [max(i.high - allowed.top, allowed.bottom - i.low) for i in intervals]
    else:
        beyond = [max(i.low - allowed.top, allowed.bottom - i.high) for i in intervals]
    pair = beyond.index(max(beyond) if inside else min(beyond))
    rank = {means.index(max(means)): "largest", means.index(min(means)): "smallest"}.get(pair, "deciding")
    return replace(
        fitted,
        statistic=f"{rank} local {fitted.statistic}",
        sample=samples[pair],
        remark=f"{fitted.remark}; {local_range_text(intervals)}",
        named=tuple(samples),
    )


def local_range_text(intervals: Sequence[Interval]) -> str:
    """The smallest and the largest local exponent with their intervals, in words."""
    in_order = sorted(intervals, key=lambda interval: interval.estimate)
    low, high = (
        f"{number_text(i.estimate)} ({number_text(i.low)} to {number_text(i.high)})"
        for i in (in_order[0], in_order[-1])
    )
    return f"local exponents, from each level to the next, run from {low} to {high}"
