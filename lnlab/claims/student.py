"""The common rule: Student's interval over seeds against the declared region, and the sign test where seeds failed.

So it is where a variant trains on some seeds and fails on others though none diverged: no mean speaks for both.

The sign test asks whether more than half of all seeds lie in the region (an exact interval, Clopper & Pearson, 1934):
6 of 6 decide, 5 of 5 do not.
"""

import math
from dataclasses import replace

from lnlab.analyse.statistics.intervals import Interval, clopper_pearson, sd_range, seeds_needed, t_interval
from lnlab.claims.claim import Finding, VerdictLabel
from lnlab.claims.region import Region, edge_distance, interval_verdict, number_text
from lnlab.claims.sample import Sample, exclusion_notes, min_seeds, reason_counted, reason_undecided

HALF_OF_SEEDS = 0.5


def judge_sample(statistic: str, sample: Sample, allowed: Region, n_min: int | None = None) -> Finding:
    """The finding of a claim that reduces to one number per seed.

    Args:
        statistic: what the numbers are.
        sample: the numbers.
        allowed: the declared region, on the scale of the numbers.
        n_min: the fewest seeds for a verdict; by default 3 at init on the log scale, else 5.
    """
    finding = undecided_finding(statistic, sample, allowed)
    if reason := reason_undecided(sample, min_seeds(sample) if n_min is None else n_min):
        return replace(finding, reason=reason + exclusion_notes(sample))
    if reason_counted(sample):
        return sign_test_finding(statistic, sample, allowed)
    verdict, reason = explained_verdict(interval_of(sample), allowed, log=sample.log)
    return replace(finding, verdict=verdict, reason=reason + exclusion_notes(sample))


def interval_of(sample: Sample) -> Interval:
    """Student's interval of the sample, on its scale."""
    return t_interval(list(sample.numbers.values()), log=sample.log)


def undecided_finding(statistic: str, sample: Sample, allowed: Region) -> Finding:
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


def explained_verdict(interval: Interval, allowed: Region, *, log: bool) -> tuple[VerdictLabel, str]:
    """The verdict of an interval and the sentence that says why."""
    verdict = interval_verdict(interval, allowed)
    interval_text = f"the 95 % interval {number_text(interval.low)} to {number_text(interval.high)}"
    if verdict == "supported":
        return verdict, f"{interval_text} lies in the region ({allowed})"
    if verdict == "contradicted":
        return verdict, f"{interval_text} lies outside the region ({allowed})"
    return (
        verdict,
        f"{interval_text} reaches across an edge of the region ({allowed}); "
        f"{seeds_needed_text(interval, allowed, log=log)}",
    )


def seeds_needed_text(interval: Interval, allowed: Region, *, log: bool) -> str:
    """How many seeds would decide: the smallest n whose half-width is below the distance to the nearest edge.

    As a range, with the standard deviation at its 20 and 80 % chi-square limits.
    """
    gap = edge_distance(interval.estimate, allowed, log=log)
    if (needed := seeds_needed(interval.sd, gap)) is None:
        return "on the edge: more than 100 seeds would be needed"
    low, high = (seeds_needed(sd, gap) for sd in sd_range(interval.sd, interval.n))
    return f"about {needed} seeds would decide ({low} to {high or 'more than 100'})"


def sign_test_finding(statistic: str, sample: Sample, allowed: Region, share: float = HALF_OF_SEEDS) -> Finding:
    """Whether more than a share of all seeds lies in the region, exactly; failures ranked worst.

    Where failures have no rank they count as outside to support, and as inside to contradict.
    """
    finding = undecided_finding(statistic, sample, allowed)
    k, n, unranked = region_counts(sample, allowed)
    low, high = clopper_pearson(k, n)[0], clopper_pearson(k + unranked, n)[1]
    verdict: VerdictLabel = "supported" if low >= share else "contradicted" if high < share else "undecided"
    reason = f"{k} of {n} seeds in the region ({allowed}); 95 % interval of the share {low:.2f} to {high:.2f}, "
    reason += f"to be above {share:.3g}" + (", failures ranked worst" if sample.failed else "")
    reason += (f"; seeds are counted, as {why}" if (why := reason_counted(sample)) else "") + exclusion_notes(sample)
    finding = replace(finding, statistic=f"share of seeds with {statistic} {allowed}", verdict=verdict, reason=reason)
    finding = replace(finding, estimate=k / n, low=low, high=high, measure="share")
    return replace(finding, region_low=share, region_high=None, n=n, inside=k)


def region_counts(sample: Sample, allowed: Region) -> tuple[int, int, int]:
    """Seeds in the region, seeds, and how many of these failed without a rank; a ranked failure is one or the other."""
    ranked = dict.fromkeys(sample.failed, math.nan) if sample.worst is None else sample.worst
    inside = sum(x in allowed for x in (*sample.numbers.values(), *ranked.values()))
    return inside, len(sample.numbers) + len(ranked), len(ranked) if sample.worst is None else 0
