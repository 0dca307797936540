"""The common rule: Student's interval over seeds against the declared region, and the sign test where seeds failed.

So it is where a variant trains on some seeds and fails on others though none diverged: no mean speaks for both.

The sign test asks whether more than half of all seeds lie in the region (an exact interval, Clopper & Pearson, 1934):
6 of 6 decide, 5 of 5 do not.
"""

import math
from dataclasses import replace

from lnlab.analyse.statistics.intervals import Interval, clopper_pearson, sd_range, seeds_needed, student
from lnlab.claims.claim import Finding, Word
from lnlab.claims.region import Region, decide, distance, printed
from lnlab.claims.sample import Sample, counted, least, notes, obstacle

HALF = 0.5


def judged(statistic: str, sample: Sample, allowed: Region, n_min: int | None = None) -> Finding:
    """The finding of a claim that reduces to one number per seed.

    Args:
        statistic: what the numbers are.
        sample: the numbers.
        allowed: the declared region, on the scale of the numbers.
        n_min: the fewest seeds for a verdict; by default 3 at init on the log scale, else 5.
    """
    finding = measured(statistic, sample, allowed)
    if reason := obstacle(sample, least(sample) if n_min is None else n_min):
        return replace(finding, reason=reason + notes(sample))
    if counted(sample):
        return signs(statistic, sample, allowed)
    verdict, reason = ruling(interval_of(sample), allowed, log=sample.log)
    return replace(finding, verdict=verdict, reason=reason + notes(sample))


def interval_of(sample: Sample) -> Interval:
    """Student's interval of the sample, on its scale."""
    return student(list(sample.numbers.values()), log=sample.log)


def measured(statistic: str, sample: Sample, allowed: Region) -> Finding:
    """What was measured, before any verdict: estimate, interval (from two seeds on), seeds inside the region."""
    inside = sum(number in allowed for number in sample.numbers.values())
    low, high = allowed.edges
    finding = Finding("undecided", statistic, "", region_low=low, region_high=high)
    finding = replace(finding, n=len(sample.numbers), inside=inside, seeds=dict(sample.numbers))
    if not sample.numbers:
        return finding
    interval = interval_of(sample)
    finding = replace(finding, estimate=interval.estimate)
    return replace(finding, low=interval.low, high=interval.high) if interval.n > 1 else finding


def ruling(interval: Interval, allowed: Region, *, log: bool) -> tuple[Word, str]:
    """The verdict of an interval and the sentence that says why."""
    verdict = decide(interval, allowed)
    interval_text = f"the 95 % interval {printed(interval.low)} to {printed(interval.high)}"
    if verdict == "supported":
        return verdict, f"{interval_text} lies in the region ({allowed})"
    if verdict == "contradicted":
        return verdict, f"{interval_text} lies outside the region ({allowed})"
    return (
        verdict,
        f"{interval_text} reaches across an edge of the region ({allowed}); {more_seeds(interval, allowed, log=log)}",
    )


def more_seeds(interval: Interval, allowed: Region, *, log: bool) -> str:
    """How many seeds would decide: the smallest n whose half-width is below the distance to the nearest edge.

    As a range, with the standard deviation at its 20 and 80 % chi-square limits.
    """
    gap = distance(interval.estimate, allowed, log=log)
    if (needed := seeds_needed(interval.sd, gap)) is None:
        return "on the edge: more than 100 seeds would be needed"
    low, high = (seeds_needed(sd, gap) for sd in sd_range(interval.sd, interval.n))
    return f"about {needed} seeds would decide ({low} to {high or 'more than 100'})"


def signs(statistic: str, sample: Sample, allowed: Region, share: float = HALF) -> Finding:
    """Whether more than a share of all seeds lies in the region, exactly; failures ranked worst.

    Where failures have no rank they count as outside to support, and as inside to contradict.
    """
    finding = measured(statistic, sample, allowed)
    k, n, unranked = ranks(sample, allowed)
    low, high = clopper_pearson(k, n)[0], clopper_pearson(k + unranked, n)[1]
    verdict: Word = "supported" if low >= share else "contradicted" if high < share else "undecided"
    reason = f"{k} of {n} seeds in the region ({allowed}); 95 % interval of the share {low:.2f} to {high:.2f}, "
    reason += f"to be above {share:.3g}" + (", failures ranked worst" if sample.failed else "")
    reason += (f"; seeds are counted, as {why}" if (why := counted(sample)) else "") + notes(sample)
    finding = replace(finding, statistic=f"share of seeds with {statistic} {allowed}", verdict=verdict, reason=reason)
    finding = replace(finding, estimate=k / n, low=low, high=high, measure="share")
    return replace(finding, region_low=share, region_high=None, n=n, inside=k)


def ranks(sample: Sample, allowed: Region) -> tuple[int, int, int]:
    """Seeds in the region, seeds, and how many of these failed without a rank; a ranked failure is one or the other."""
    ranked = dict.fromkeys(sample.failed, math.nan) if sample.worst is None else sample.worst
    inside = sum(x in allowed for x in (*sample.numbers.values(), *ranked.values()))
    return inside, len(sample.numbers) + len(ranked), len(ranked) if sample.worst is None else 0
