"""How often the verdicts of a page may be wrong, computed from the verdicts: their bounds, their sum, and Holm's test.

    error_sentence(verdicts)     the sentence for a page
    error_bound(verdict)         the probability that a verdict's word is wrong, whatever the truth
    joint_decisions(verdicts)    how many verdicts stay decided at a joint 5 % (Holm, 1979)

The bounds add up whatever the dependence between claims (Boole). They hold for other seeds, with everything else fixed.
"""

import math
from collections.abc import Sequence

import scipy  # scipy.special takes a while to import, and loads when it is first used

from lnlab.analyse.statistics.intervals import t_quantile
from lnlab.claims.claim import Verdict
from lnlab.claims.intersection_union import holm_rejections
from lnlab.claims.significance import ALPHA

DECIDED = ("supported", "contradicted", "smaller", "beyond")
_WITHOUT_SEEDS = ("cited", "edges")
"""Kinds that judge other verdicts."""
EXACT_STATISTIC = "worst sample"
"""The statistic of a bound on every sample, which is decided by counting."""


def error_sentence(verdicts: Sequence[Verdict]) -> str:
    """How many claims there are and how often they may be wrong. Empty without a claim about seeds."""
    judged = [verdict for verdict in verdicts if is_about_seeds(verdict)]
    if not judged:
        return ""
    decided = sum(verdict.verdict in DECIDED for verdict in judged)
    again = sum(verdict.look > 1 for verdict in judged)
    bounds = [error_bound(verdict) for verdict in judged]
    total = math.fsum(bounds)
    low, high = (f"{_rounded_up(100 * bound, 3):g}" for bound in (min(bounds), max(bounds)))
    chance = f"{high} %" if low == high else f"{low} to {high} %"
    if len(judged) == 1:
        fate = "decided" if decided else "not decided"
        looked = ", after more than one look" if again else ""
        return (
            f"The page has one claim, which is {fate}{looked}. Whatever the truth, over draws of seeds its verdict is "
            f"wrong with probability at most {chance}."
        )
    counts = f"{len(judged)} claims, {decided} decided, {again} looked at more than once."
    each = (
        f"Whatever the truth, over draws of seeds the verdict of a claim is wrong with probability at most {chance}. "
        f"The expected number of wrong verdicts among the {len(judged)} is at most {_rounded_up(total, 2):g}"
    )
    none_wrong = 0.01 * math.floor((1 - total) / 0.01 + 1e-9)  # rounded down, where the others are rounded up
    none = f", and with probability at least {none_wrong:g} none is wrong" if total < 1 else ""
    joint = joint_decisions(judged)
    stay = f" {joint} {'stays' if joint == 1 else 'stay'} decided at a joint level of {100 * ALPHA:g} % (Holm)."
    return f"{counts} {each}{none}.{stay if decided else ''}"


def _rounded_up(value: float, digits: int) -> float:
    """Round a bound up to ``digits`` significant digits, ignoring the rounding error of its sum."""
    unit: float = 10.0 ** (math.floor(math.log10(value)) - digits + 1) if value > 0 else 1.0
    return math.ceil(value / unit - 1e-9) * unit


def is_about_seeds(verdict: Verdict) -> bool:
    """Whether a verdict could have been another with other seeds, and no rule forbids it."""
    return verdict.kind not in _WITHOUT_SEEDS and verdict.statistic != EXACT_STATISTIC


def error_bound(verdict: Verdict) -> float:
    """The largest probability that the word of a verdict is wrong, over all looks.

    Both words can be wrong only where both have an edge, or where the margin is ours. With one edge and the margin of
    the source, one of the two words is right, so only half the level is at stake.
    """
    one_sided = (verdict.region_low is None) != (verdict.region_high is None)
    return verdict.bound / 2 if one_sided and verdict.margin == "source" else verdict.bound


def joint_decisions(verdicts: Sequence[Verdict]) -> int:
    """How many verdicts stay decided if none of all may be wrong with more than 5 % probability (Holm, 1979)."""
    p_values = [
        decision_p_value(v) * ALPHA / v.level if v.verdict in DECIDED else 1.0 for v in verdicts if is_about_seeds(v)
    ]
    return sum(holm_rejections(p_values, ALPHA))


def decision_p_value(verdict: Verdict) -> float:
    """Two-sided p of a decided verdict against the edge that it is decided by, from what is stored of it.

    Where the stored numbers do not determine it (a margin of ours that is missed on the other side), the level.
    """
    if verdict.detail in ("the other way", "no effect that matters") or verdict.low is None or verdict.high is None:
        return verdict.level
    edges = [edge for edge in (verdict.region_low, verdict.region_high) if edge is not None]
    if not edges or verdict.estimate is None:
        return verdict.level
    if verdict.measure == "share":
        # Clopper and Pearson's exact test of each share: twice the smaller tail, as its interval cuts both alike.
        k, n = verdict.inside, verdict.n
        tails = [
            (scipy.special.bdtr(k, n, edge), 1 - scipy.special.bdtr(k - 1, n, edge) if k else 1.0) for edge in edges
        ]
        return min(verdict.level, max(2 * float(min(pair)) for pair in tails))
    if verdict.about == "median":
        # A seed without a number is not among the numbers, and counts as on the wrong side.
        numbers, n, estimate = list(verdict.seeds.values()), verdict.n, verdict.estimate
        right = [sum((number > edge) == (estimate > edge) for number in numbers) for edge in edges]
        p_values = [2 * float(scipy.special.bdtr(n - count, n, 0.5)) for count in right]
    else:
        p_values = [_student_p(verdict, edge) for edge in edges]
    # inside, both edges are cleared; outside, the nearer one
    p = max(p_values) if verdict.verdict == "supported" else min(p_values)
    # The verdict was decided at its level: a larger p comes from the rounding of what is stored.
    return min(p, verdict.level)


def _student_p(verdict: Verdict, edge: float) -> float:
    low, estimate, high = verdict.low, verdict.estimate, verdict.high
    if low is None or estimate is None or high is None or verdict.n < 2:
        return verdict.level
    # A verdict does not store its scale: it was judged on logarithms if the estimate is the geometric mean of the ends.
    if (
        low > 0
        and edge > 0
        and abs(math.log(low) + math.log(high) - 2 * math.log(estimate)) < 1e-6 * (1 + abs(math.log(estimate)))
    ):
        low, estimate, high, edge = (math.log(x) for x in (low, estimate, high, edge))
    if not math.isfinite(high - low):
        return verdict.level
    # The interval is ± quantile * standard error.
    error = (high - low) / 2 / t_quantile(verdict.n - 1, 1 - verdict.level)
    if error == 0:
        return 0.0
    return 2 * float(scipy.special.stdtr(verdict.n - 1, -abs(estimate - edge) / error))
