"""The common rule: an interval over seeds at the level of this look, against the declared region.

    mean      Student's interval, on the logarithms of positive quantities: the estimand is then the geometric mean
    median    between two order statistics, whatever the distribution (Thompson, 1936)
    share     k of n seeds in the region against one half, exactly (Clopper & Pearson)

For a median and a share failed seeds rank worst. A mean says nothing about failed seeds: its verdict is then withheld,
and no other question is answered in its place. A switch to the sign test would call "the mean is at least x" supported
98 % of the time where the mean is x, one seed in ten fails and 20 seeds are run.
"""

import math
from dataclasses import replace
from functools import lru_cache
from itertools import count

from lnlab.analyse.statistics.intervals import (
    Interval,
    clopper_pearson,
    clustered_interval,
    median_interval,
    t_interval,
)
from lnlab.claims.claim import Finding, VerdictLabel
from lnlab.claims.criterion import ONE_LOOK, Criterion, Null, interval_word, law_word
from lnlab.claims.outlook import alike_seeds, outlook_text, seeds_needed_text
from lnlab.claims.region import Region, edge_left_out, number_text
from lnlab.claims.sample import (
    BY_RULE,
    Sample,
    exclusion_notes,
    min_seeds,
    reason_undecided,
    reason_unfinished,
    reason_without_mean,
)
from lnlab.claims.verdict_details import Detail
from lnlab.claims.verdict_text import coverage_text
from lnlab.seed_words import seeds_word

HALF_OF_SEEDS = 0.5


def judge_sample(
    statistic: str,
    sample: Sample,
    allowed: Region,
    n_min: int | None = None,
    criterion: Criterion = ONE_LOOK,
    null: Null | None = None,
) -> Finding:
    """The finding of a claim that reduces to one number per seed.

    Args:
        statistic: what the numbers are.
        sample: the numbers.
        allowed: the declared region, on the scale of the numbers.
        n_min: the fewest seeds for a verdict on a mean. The default is 3 at init on the log scale, else 5.
        criterion: level, estimand, law.
        null: what a margin of ours is measured from.
    """
    if finding := unjudged_finding(statistic, sample, allowed, n_min, criterion):
        return finding
    if criterion.about == "share":
        return share_of_seeds_finding(statistic, sample, allowed, criterion, null=null)
    finding = measured_finding(statistic, sample, allowed, criterion)
    interval = interval_of(sample, criterion)
    verdict, detail, reason = explained_verdict(interval, allowed, sample, criterion, null)
    return replace(
        finding,
        verdict=verdict,
        detail=detail,
        reason=reason + exclusion_notes(sample),
        law_word=law_word(interval, criterion.law),
        tested=True,
    )


def unjudged_finding(
    statistic: str, sample: Sample, allowed: Region, n_min: int | None, criterion: Criterion
) -> Finding | None:
    """The finding where a rule leaves the claim without a verdict, or None where the numbers decide."""
    least = fewest_seeds_of(sample, n_min, criterion)
    undecided = reason_undecided(sample, least, criterion.about)
    unfinished = reason_unfinished(sample, criterion.finish)
    without_mean = reason_without_mean(sample) if criterion.about == "mean" else ""
    if not (undecided or unfinished or without_mean):
        return None
    finding = measured_finding(statistic, sample, allowed, criterion)
    notes = exclusion_notes(sample)
    if unfinished:
        return replace(_without_mean(finding), verdict="not testable here", reason=unfinished + notes)
    if undecided:
        if BY_RULE in undecided:
            undecided += _beyond_the_rule(sample, allowed, n_min, least, criterion)
        return replace(finding, reason=undecided + exclusion_notes(sample, undecided))
    return replace(_without_mean(finding), reason=without_mean + notes)


def _beyond_the_rule(sample: Sample, allowed: Region, n_min: int | None, least: int, criterion: Criterion) -> str:
    """How many seeds would decide where these are too few by rule, if the rule's number would not do."""
    if len(sample.numbers) < 2 or allowed == Region():
        return ""
    level = criterion.next_level if criterion.seen else criterion.level
    fewest = fewest_seeds_of(sample, n_min, replace(criterion, level=level))
    if criterion.about == "share":
        k, n, _ = region_counts(sample, allowed)
        needed = alike_seeds(k, n, 1 - level, fewest)
        outlook = outlook_text(needed, sample.total, criterion, first=not criterion.seen)
    else:
        outlook = seeds_needed_text(interval_of(sample, criterion), allowed, sample, criterion, fewest)
    return "" if outlook.startswith(f"about {least} {seeds_word()}") and not criterion.seen else f"; {outlook}"


def fewest_seeds_of(sample: Sample, n_min: int | None, criterion: Criterion) -> int:
    """The fewest seeds for a verdict. A median and a share need as many as decide if all are alike."""
    if criterion.about == "mean":
        return min_seeds(sample) if n_min is None else n_min
    return fewest_alike(criterion.level)


@lru_cache
def fewest_alike(level: float) -> int:
    """The fewest seeds that decide at a two-sided level whether more than half are, if all are alike: 6 at .05."""
    return next(n for n in count(1) if clopper_pearson(n, n, 1 - level)[0] >= HALF_OF_SEEDS)


def interval_of(sample: Sample, criterion: Criterion = ONE_LOOK) -> Interval:
    """The interval of the sample on its scale: Student's, or with ``about: median`` that between order statistics.

    A failed seed without a rank stands at whichever end makes the interval wider. Fractions end at 0 and 1.
    """
    coverage = 1 - criterion.level
    numbers = list(sample.numbers.values())
    if criterion.about == "mean" and sample.clusters:
        clusters = [sample.clusters[seed] for seed in sample.numbers]
        interval = clustered_interval(numbers, clusters, log=sample.log, level=coverage)
    elif criterion.about == "mean":
        interval = t_interval(numbers, log=sample.log, level=coverage)
    elif sample.worst is None and sample.failed:
        worst, best = ([*numbers, *(len(sample.failed) * [end])] for end in (-math.inf, math.inf))
        interval = replace(median_interval(worst, coverage), high=median_interval(best, coverage).high)
    else:
        interval = median_interval([*numbers, *(sample.worst or {}).values()], coverage)
    least, most = sample.bounds if sample.bounds else (0.0 if sample.log else -math.inf, math.inf)
    return replace(interval, low=max(interval.low, least), high=min(interval.high, most))


def measured_finding(statistic: str, sample: Sample, allowed: Region, criterion: Criterion = ONE_LOOK) -> Finding:
    """What was measured, before any verdict: estimate, interval (from two seeds on), seeds inside the region."""
    inside, n, _ = region_counts(sample, allowed)
    if criterion.about == "share":
        return _measured_share(statistic, sample, allowed, criterion)
    if criterion.about == "mean":
        n = len(sample.numbers)
        inside = sum(number in allowed for number in sample.numbers.values())
    low, high = allowed.edges
    interval = interval_of(sample, criterion) if sample.numbers else None
    return Finding(
        "undecided",
        statistic,
        "",
        region_low=low,
        region_high=high,
        n=n,
        inside=inside,
        seeds=dict(sample.numbers),
        estimate=interval.estimate if interval and math.isfinite(interval.estimate) else None,
        low=interval.low if interval and interval.n > 1 else None,
        high=interval.high if interval and interval.n > 1 else None,
    )


def _without_mean(finding: Finding) -> Finding:
    """The finding without an estimate, which would be that of the seeds that did not fail."""
    return replace(finding, estimate=None, low=None, high=None)


def explained_verdict(
    interval: Interval, allowed: Region, sample: Sample, criterion: Criterion = ONE_LOOK, null: Null | None = None
) -> tuple[VerdictLabel, Detail | None, str]:
    """The verdict of an interval, what it says beyond its word, and the sentence that says why."""
    verdict, detail = interval_word(interval.low, interval.high, allowed, null)
    text = interval_text(interval, criterion)
    if verdict == "supported":
        return verdict, detail, f"{text} lies within the accepted range ({allowed})"
    if detail == "the other way" and null is not None:
        return verdict, detail, f"{text} lies on the other side of {number_text(null.value)}"
    if detail == "no effect that matters" and null is not None:
        zone = Region(null.zone_low, null.zone_high)
        return verdict, detail, f"{text} lies where no effect matters ({zone})"
    if verdict == "smaller":
        return verdict, detail, f"{text} falls short of our margin ({allowed}): {detail}"
    if verdict == "contradicted":
        edge = edge_left_out(*allowed.edges, interval.low, interval.high)
        without = "" if edge is None else f", without {number_text(edge)} itself"
        return verdict, detail, f"{text} lies outside the accepted range ({allowed}{without})"
    needed = seeds_needed_text(interval, allowed, sample, criterion)
    return verdict, detail, f"{text} reaches beyond the accepted range ({allowed}); {needed}"


def interval_text(interval: Interval, criterion: Criterion) -> str:
    """``the 97.5 % interval of the median 1.2 to 1.8``."""
    what = " of the median" if criterion.about == "median" else ""
    ends = f"{number_text(interval.low)} to {number_text(interval.high)}"
    return f"the {coverage_text(criterion.level)} interval{what} {ends}"


def share_of_seeds_finding(
    statistic: str,
    sample: Sample,
    allowed: Region,
    criterion: Criterion = ONE_LOOK,
    null: Null | None = None,
) -> Finding:
    """Whether more than half of all seeds lie in the region, by an exact interval. Failures rank worst.

    Where failures have no rank they count as outside to support, and as inside to contradict. With a margin of ours
    the sentence is contradicted where more than half of the seeds lie on the other side of ``null``.
    """
    finding = _measured_share(statistic, sample, allowed, criterion)
    k, n, unranked = region_counts(sample, allowed)
    low, high = share_interval(k, n, unranked, criterion)
    verdict, detail = _share_word(sample, allowed, criterion, (low, high), null)
    reason = f"{k} of {n} {seeds_word()} within the accepted range ({allowed}); {coverage_text(criterion.level)} "
    reason += f"interval of the share {low:.2f} to {high:.2f}, to be above {HALF_OF_SEEDS:.3g}"
    reason += ", failures ranked worst" if sample.failed else ""
    reason += f"; {detail}" if detail else ""
    if verdict == "undecided":
        needed = alike_seeds(k, n, 1 - criterion.next_level)
        reason += f"; {outlook_text(needed, sample.total, criterion)}"
    about_median = replace(criterion, about="median")
    word = law_word(interval_of(sample, about_median), criterion.law) if sample.numbers else None
    reason += exclusion_notes(sample)
    return replace(finding, verdict=verdict, detail=detail, reason=reason, law_word=word, tested=True)


def _measured_share(statistic: str, sample: Sample, allowed: Region, criterion: Criterion) -> Finding:
    """How many seeds lie in the region, before any verdict."""
    k, n, unranked = region_counts(sample, allowed)
    finding = Finding(
        "undecided",
        f"share of {seeds_word()} with {statistic} {allowed}",
        "",
        region_low=HALF_OF_SEEDS,
        measure="share",
    )
    finding = replace(finding, n=n, inside=k, seeds=dict(sample.numbers))
    if not n:
        return finding
    low, high = share_interval(k, n, unranked, criterion)
    return replace(finding, estimate=k / n, low=low, high=high)


def share_interval(k: int, n: int, unknown: int, criterion: Criterion) -> tuple[float, float]:
    """The exact interval of a share at the level of this look. Unknown seeds make it wider."""
    coverage = 1 - criterion.level
    return clopper_pearson(k, n, coverage)[0], clopper_pearson(k + unknown, n, coverage)[1]


def _share_word(
    sample: Sample,
    allowed: Region,
    criterion: Criterion,
    ends: tuple[float, float],
    null: Null | None,
) -> tuple[VerdictLabel, Detail | None]:
    low, high = ends
    if low >= HALF_OF_SEEDS:
        return "supported", None
    if null is None:
        return ("contradicted" if high < HALF_OF_SEEDS else "undecided"), None

    def most_lie_in(region: Region) -> bool:
        k, n, unranked = region_counts(sample, region)
        return share_interval(k, n, unranked, criterion)[0] >= HALF_OF_SEEDS

    up = allowed.low is not None
    # Strictly beyond: a seed that shows no effect at all is on neither side.
    other_side = (
        Region(high=math.nextafter(null.value, -math.inf)) if up else Region(math.nextafter(null.value, math.inf))
    )
    if most_lie_in(other_side):
        return "contradicted", "the other way"
    inner = math.nextafter(null.zone_low, math.inf), math.nextafter(null.zone_high, -math.inf)
    if null.zone_low < null.zone_high and most_lie_in(Region(*inner)):
        return "contradicted", "no effect that matters"
    if high >= HALF_OF_SEEDS:
        return "undecided", None
    own_side = (
        Region(math.nextafter(null.value, math.inf)) if up else Region(high=math.nextafter(null.value, -math.inf))
    )
    return "smaller", "in its direction" if most_lie_in(own_side) else "direction open"


def region_counts(sample: Sample, allowed: Region) -> tuple[int, int, int]:
    """Seeds in the region, all seeds, and failures without a rank. A ranked failure is inside or outside."""
    ranked = dict.fromkeys(sample.failed, math.nan) if sample.worst is None else sample.worst
    inside = sum(x in allowed for x in (*sample.numbers.values(), *ranked.values()))
    return inside, len(sample.numbers) + len(ranked), len(ranked) if sample.worst is None else 0
