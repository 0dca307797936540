"""The property of the distribution over seeds that a claim is about by default: mean, median or share.

A mean represents seeds that are all alike. Where a run either succeeds or fails, Student's interval of the mean is
wrong up to half of the time at any level. There the share of seeds in the region is judged, or the median.
"""

from collections.abc import Collection, Iterable

from lnlab.specfile.experiment import About

NEAR_BOUND = 0.05
"""Nearer than this to 0 or 1, an accepted edge of a fraction leaves its mean too skewed for Student's interval."""


def near_a_bound(edges: Iterable[float | None]) -> bool:
    """Whether an edge of the accepted range of a fraction is so near to 0 or 1 that no mean of it is judged."""
    # With room for rounding: ``1 - 0.95`` is a little more than 0.05.
    return any(edge is not None and min(abs(edge), abs(1 - edge)) <= NEAR_BOUND + 1e-12 for edge in edges)


def reason_against_mean(*, all_or_nothing: bool, near_bound: bool) -> str:
    """Why a quantity has no mean to be judged, in words. Empty where it has one."""
    if all_or_nothing:
        return "its numbers are all or nothing, so that no mean speaks for the seeds"
    return f"an accepted edge lies within {NEAR_BOUND} of a bound of the quantity" if near_bound else ""


def default_about(possible: Collection[About], *, all_or_nothing: bool, near_bound: bool) -> About | None:
    """What a claim is about by default.

    Args:
        possible: what its kind can be judged about, the usual one first. Empty means none.
        all_or_nothing: whether a run has all of the quantity or none.
        near_bound: whether ``near_a_bound``.
    """
    preferred: tuple[About, ...] = ("share", "median") if all_or_nothing else ("median", "share") if near_bound else ()
    return next((about for about in (*preferred, *possible) if about in possible), None)
