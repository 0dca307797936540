"""How much many verdicts together promise.

Of m primary claims each is wrong at most 5 % of the time; if all were borderline, m·0.05 wrong ones are expected. The
counts after Holm (1979) keep the chance of *any* wrong decisive verdict among the primary ones below 5 %.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from scipy.special import bdtr

from lnlab.analyse.statistics.intervals import student_p_value, t_interval
from lnlab.claims.claim import Verdict, VerdictLabel
from lnlab.claims.holm import holm_rejections
from lnlab.claims.region import Region

ERROR_LEVEL = 0.05
SHARE_KINDS = ("status", "everywhere")
"""Kinds that count seeds."""
PREDICTION_KINDS = ("printed_mean",)
"""Kinds that ask whether a published number lies where ours put the middle 95 %."""
DECISIVE_LABELS: tuple[VerdictLabel, ...] = ("supported", "contradicted")


@dataclass(frozen=True)
class Headline:
    """The primary claims of a spec, counted.

    Attributes:
        primary: how many there are.
        expected_wrong: decisive verdicts expected to be wrong if all claims were borderline.
        counts: primary claims by verdict.
        after_holm: the same where a decisive verdict that does not outlast Holm's correction is undecided.
    """

    primary: int
    expected_wrong: float
    counts: Mapping[VerdictLabel, int]
    after_holm: Mapping[VerdictLabel, int]


def headline_counts(verdicts: Iterable[Verdict]) -> Headline:
    """The counts of a page's header and, after Holm over the primary claims, of a gallery."""
    primary = [v for v in verdicts if v.primary]
    rejected = holm_rejections([p_value(v) for v in primary], ERROR_LEVEL)
    words = [v.verdict for v in primary]
    after = [word if rejected[i] or word not in DECISIVE_LABELS else "undecided" for i, word in enumerate(words)]
    return Headline(len(primary), ERROR_LEVEL * len(primary), _counts(words), _counts(after))


def p_value(verdict: Verdict) -> float:
    """Two-sided p of a decisive verdict: 5 % where its interval just touches an edge of the region; else 1.

    Recovered from the numbers of the seeds: of Student's interval on the scale on which the estimate is their mean, of
    the sign test otherwise. Page's part of a trend is not in it: that stands at its own 2.5 %.
    """
    if verdict.verdict not in DECISIVE_LABELS or verdict.estimate is None:
        return 1.0
    if verdict.kind in PREDICTION_KINDS:
        return ERROR_LEVEL if verdict.verdict == "contradicted" else 1.0  # that nothing speaks against it is no test
    if verdict.low is None:
        return 0.0  # an exact bound leaves nothing to chance
    allowed = _tested_region(verdict)
    numbers = list(verdict.seeds.values())
    if verdict.kind in SHARE_KINDS:
        return 2 * _share_p(verdict, allowed)
    if numbers and math.isclose(verdict.estimate, fmean(numbers), rel_tol=1e-9, abs_tol=1e-12):
        return 2 * _student_p(verdict.verdict, numbers, allowed.bottom, allowed.top)
    if _is_geometric_mean(verdict.estimate, numbers):
        edges = (math.log(e) if e > 0 else -math.inf for e in (allowed.bottom, allowed.top))
        return 2 * _student_p(verdict.verdict, [math.log(x) for x in numbers], *edges)
    return 2 * _binomial_p(verdict.inside, verdict.n, allowed.bottom, more=verdict.verdict == "supported")


def _tested_region(verdict: Verdict) -> Region:
    """The region whose edge decided: a fit is contradicted only below the inverse of the edge that supports it."""
    if verdict.kind == "fit" and verdict.verdict == "contradicted" and verdict.region_low:
        return Region(low=1 / verdict.region_low)
    return Region(verdict.region_low, verdict.region_high)


def _is_geometric_mean(estimate: float, numbers: Sequence[float]) -> bool:
    if not numbers or min(numbers) <= 0:
        return False
    return math.isclose(math.log(estimate), fmean(map(math.log, numbers)), rel_tol=1e-9, abs_tol=1e-12)


def _student_p(word: VerdictLabel, numbers: Sequence[float], low: float, high: float) -> float:
    """One-sided p of a mean so far inside the region, or beyond it."""
    interval = t_interval(numbers)
    inside = min(interval.estimate - low, high - interval.estimate)
    return student_p_value(inside if word == "supported" else -inside, interval.sd, interval.n)


def _share_p(verdict: Verdict, allowed: Region) -> float:
    """One-sided p of a share of seeds that is above the lower edge, or below the upper one; or not at all."""
    above, share = (True, allowed.bottom) if verdict.region_high is None else (False, allowed.top)
    return _binomial_p(verdict.inside, verdict.n, share, more=above == (verdict.verdict == "supported"))


def _binomial_p(k: int, n: int, share: float, *, more: bool) -> float:
    """One-sided p of so many (or so few) seeds of all against a share."""
    return float(bdtr(n - k, n, 1 - share) if more else bdtr(k, n, share))


def _counts(words: Sequence[VerdictLabel]) -> dict[VerdictLabel, int]:
    return {word: words.count(word) for word in dict.fromkeys(words)}
