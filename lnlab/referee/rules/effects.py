"""Rules on the numbers of verdicts: their distribution, their side, and whether two verdicts rest on one number."""

import math
from collections.abc import Iterator
from itertools import combinations

from lnlab.analyse.statistics.intervals import median_interval
from lnlab.claims.claim import Verdict
from lnlab.claims.region import Region, number_text
from lnlab.referee.rule import Remark, rule
from lnlab.referee.rules.tuning import position
from lnlab.referee.study import Study
from lnlab.referee.words import estimate, with_interval
from lnlab.seed_words import seeds_word

_SKEWED, _LOPSIDED = 2.0, 1.0
"""Skewness beyond which it is told in any case, and where the median says something else."""
_SAME = 0.98
"""Correlation over seeds beyond which two claims are one result."""
_CONTRASTS = ("difference", "order", "interaction")


@rule("R8", "Does the mean stand for the seeds?", "judge the median, or more seeds")
def skewed_seeds(study: Study) -> Iterator[Remark]:
    """Where the seeds' numbers are skewed, or the interval of their median gives another word."""
    for verdict in study.judged():
        numbers = [value for value in verdict.seeds.values() if math.isfinite(value)]
        if verdict.about != "mean" or len(numbers) < 6 or verdict.low is None or verdict.high is None:
            continue
        if (skew := skewness(numbers, log=verdict.measure == "ratio")) is None:
            continue
        middle = median_interval(numbers, 1 - verdict.level)
        region = Region(verdict.region_low, verdict.region_high)
        known = math.isfinite(middle.low)  # with fewer numbers than its level asks for, its interval is unbounded
        differs = known and position(region, middle.low, middle.high) != position(region, verdict.low, verdict.high)
        plain = skewness(numbers, log=False) or 0.0
        if differs and max(abs(skew), abs(plain)) > _LOPSIDED:
            interval = f"{number_text(middle.low)} to {number_text(middle.high)}"
            mean = f"of the mean (skew {number_text(max(skew, plain, key=abs))})"
            says = f"The interval of the median, {interval}, gives another word than that {mean}."
            yield Remark(says, (verdict.claim,), grave=True)
        elif abs(skew) > _SKEWED:
            says = f"The {seeds_word()} are skewed by {number_text(skew)}; the median agrees."
            yield Remark(says, (verdict.claim,), asks=False)


def skewness(numbers: list[float], *, log: bool) -> float | None:
    """The adjusted Fisher-Pearson skewness, of the logarithms of positive ratios. None without any spread."""
    from scipy.stats import skew  # late: it takes a second, and a plan has no numbers

    scale = [math.log(x) for x in numbers] if log and min(numbers) > 0 else numbers
    if max(scale) - min(scale) <= 1e-9 * max(map(abs, scale)):
        return None
    return float(skew(scale, bias=False))


@rule("R13", "Do two verdicts rest on one number?", "another measurement, or one claim less")
def one_number_twice(study: Study) -> Iterator[Remark]:
    """Where the seeds of two claims have the same numbers, or nearly so."""
    judged = [verdict for verdict in study.judged() if len(verdict.seeds) >= 5]
    for first, second in combinations(judged, 2):
        seeds = sorted(set(first.seeds) & set(second.seeds))
        correlation = _correlation([first.seeds[s] for s in seeds], [second.seeds[s] for s in seeds])
        if correlation is None or abs(correlation) <= _SAME:
            continue
        same = all(math.isclose(first.seeds[s], second.seeds[s], rel_tol=1e-9) for s in seeds)
        how = (
            "the same numbers"
            if same
            else f"one number: over {seeds_word()} they correlate by {number_text(correlation)}"
        )
        yield Remark(f"These two verdicts rest on {how}.", (first.claim, second.claim))


def _correlation(x: list[float], y: list[float]) -> float | None:
    """Pearson's, or None with fewer than five numbers or none that vary."""
    if len(x) < 5 or not all(map(math.isfinite, (*x, *y))):
        return None
    mean_x, mean_y = math.fsum(x) / len(x), math.fsum(y) / len(y)
    spread_x = math.sqrt(math.fsum((v - mean_x) ** 2 for v in x))
    spread_y = math.sqrt(math.fsum((v - mean_y) ** 2 for v in y))
    floor = 1e-6 * math.sqrt(len(x))
    if spread_x <= floor * max(map(abs, x)) or spread_y <= floor * max(map(abs, y)):
        return None
    return math.fsum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)) / (spread_x * spread_y)


@rule("R19", "Is an effect hidden in the accepted range?", "say the effect in the sentence, or set a smaller margin")
def effect_within_the_range(study: Study) -> Iterator[Remark]:
    """Where "no effect" stands, the interval excludes it, and the estimate is beyond half of the tolerance."""
    for verdict in study.judged("supported", "undecided"):
        no_effect = study.no_effect(verdict.claim)
        region = Region(verdict.region_low, verdict.region_high)
        if verdict.kind not in (*_CONTRASTS, "ratio") or not _has_interval(verdict) or no_effect not in region:
            continue
        low, high, value = verdict.low or 0.0, verdict.high or 0.0, verdict.estimate or 0.0
        adverse = region.high if low > no_effect else region.low if high < no_effect else None
        if adverse is None or adverse == no_effect or (value - no_effect) / (adverse - no_effect) < 0.5:
            continue
        share = f"{(value - no_effect) / (adverse - no_effect):.0%}".replace("%", " %")
        says = f"The range accepts no effect, yet there is one: {estimate(verdict)}, {share} of the tolerance."
        yield Remark(says, (verdict.claim,), grave=True)


@rule("R29", "Is the effect the other way?", "say in the sentence which side it falls on")
def far_on_the_other_side(study: Study) -> Iterator[Remark]:
    """Where "at most m" is supported by an effect of more than m the other way."""
    for verdict in study.judged("supported"):
        no_effect = study.no_effect(verdict.claim)
        low_edge, high_edge = verdict.region_low, verdict.region_high
        if verdict.kind not in _CONTRASTS or not _has_interval(verdict) or (low_edge is None) == (high_edge is None):
            continue
        at_most = high_edge is not None
        edge = (high_edge if at_most else low_edge) or 0.0
        mirrored = 2 * no_effect - edge
        high, low = verdict.high or 0.0, verdict.low or 0.0
        if no_effect < edge and high < mirrored if at_most else no_effect > edge and low > mirrored:
            bound = f"at {'most' if at_most else 'least'} {number_text(edge)}"
            says = f"It asks for {bound} and finds {estimate(verdict)}: an effect the other way, beyond the margin."
            yield Remark(says, (verdict.claim,), asks=False)


@rule("R32", "Is every share a share?", "another decomposition, whose parts add up to the whole")
def share_outside_its_range(study: Study) -> Iterator[Remark]:
    """Where a share of a whole lies outside 0 to 1: its parts cancel, and it explains nothing."""
    for verdict in study.judged():
        if verdict.measure != "value" or not study.reads_share(verdict.claim) or verdict.estimate is None:
            continue
        if not -1e-9 <= verdict.estimate <= 1 + 1e-9:
            numbers = with_interval(verdict.estimate, verdict.low, verdict.high)
            yield Remark(f"A share of {numbers} lies outside 0 to 1.", (verdict.claim,), grave=True)


def _has_interval(verdict: Verdict) -> bool:
    return verdict.estimate is not None and verdict.low is not None and verdict.high is not None


@rule("R18", "Is a result outside the range on its better side?")
def better_than_the_range(study: Study) -> Iterator[Remark]:
    """Where a range of ours is left on the side on which a result is better."""
    for verdict in study.judged("beyond"):
        if (verdict.detail or "").startswith("better"):
            yield Remark(
                f"It ends better than the range, not worse: {estimate(verdict)}.", (verdict.claim,), asks=False
            )


@rule("R3d", "Is there anything to test?", "runs in which the effect that is asked about exists")
def nothing_to_test(study: Study) -> Iterator[Remark]:
    """Where the judge found that what a sentence is about does not exist in these runs."""
    for verdict in study.judged("not testable here", roles=["source"]):
        if not study.claims[verdict.claim].get("requires"):
            yield Remark(f"It cannot be tested here: {verdict.reason}.", (verdict.claim,), grave=True)
