"""Several statements that must all hold: intersection-union to support, Holm to contradict.

They are supported iff each one is, with no correction (Berger, 1982). They are contradicted iff one of them is wholly
wrong after Holm's (1979) step-down over all of them. The same holds with a margin of ours, against the value without an
effect and against the edge. One of m statements says at the level over m (Bonferroni) that an effect is too small to
matter, or that a named value is rejected.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from lnlab.analyse.statistics.intervals import sign_test_p_value, student_p_value
from lnlab.claims.claim import Finding, VerdictLabel
from lnlab.claims.criterion import ONE_LOOK, Criterion, Null, law_word
from lnlab.claims.region import Region
from lnlab.claims.sample import Sample
from lnlab.claims.student import interval_of, judge_sample, region_counts, unjudged_finding
from lnlab.claims.verdict_details import Detail, LawWord
from lnlab.specfile.experiment import About


@dataclass(frozen=True)
class Member:
    """One of the statements.

    Attributes:
        statistic: what its numbers are.
        sample: the numbers.
        allowed: where they must lie.
        remark: on the ruling.
        null: what a margin of ours is measured from.
        named: the samples that a named value must fit, all of them. None means the sample of the member. Empty means
            that the member is an extreme over several places, for which no value can be named.
    """

    statistic: str
    sample: Sample
    allowed: Region
    remark: str = ""
    null: Null | None = None
    named: tuple[Sample, ...] | None = None

    @property
    def named_samples(self) -> tuple[Sample, ...]:
        """The samples that a named value must fit."""
        return (self.sample,) if self.named is None else self.named


def intersection_union(members: Sequence[Member], n_min: int, criterion: Criterion = ONE_LOOK) -> Finding:
    """The finding over all members. Estimate, interval and seeds are those of the member that decides.

    That is the one furthest beyond its edge if the claim is contradicted, else the first that keeps it from support,
    else the one nearest to its edge.
    """
    finding = _union_finding(members, n_min, criterion)
    samples = [sample for member in members for sample in member.named_samples if sample.numbers]
    if not finding.tested or criterion.law is None or not samples:
        return replace(finding, law_word=None)
    # Whether all statements are compatible with the named value, at a level that they share (Bonferroni).
    about: About = "mean" if criterion.about == "mean" else "median"
    # A share has no interval on the scale of the named value, which is held against the median.
    shared = replace(criterion, level=criterion.level / len(samples), about=about)
    words = [law_word(interval_of(sample, shared), criterion.law) for sample in samples]
    word: LawWord | None = None if None in words else "rejected" if "rejected" in words else "compatible"
    return replace(finding, law_word=word)


def _union_finding(members: Sequence[Member], n_min: int, criterion: Criterion) -> Finding:
    if len(members) == 1:
        return _member_finding(members[0], n_min, criterion)
    for m in members:
        if unjudged := unjudged_finding(m.statistic, m.sample, m.allowed, n_min, criterion):
            return unjudged
    findings = [_member_finding(member, n_min, criterion) for member in members]
    p_values = [region_p_value(m.sample, m.allowed, criterion) for m in members]
    against = [
        _contradiction(m, finding, n_min, criterion, len(members)) for m, finding in zip(members, findings, strict=True)
    ]
    # Contradicted: one statement is wholly wrong, after Holm over all of them.
    other_way = [p for p, _ in against]
    if any(holm_rejections(other_way, criterion.tail)):
        deciding = min(range(len(findings)), key=other_way.__getitem__)
        reason = _deciding_reason(findings, deciding, significant=True)
        other: Detail | None = "the other way" if members[deciding].null else None
        return replace(findings[deciding], verdict="contradicted", detail=other, reason=reason)
    # Or the effect of one is too small to matter, at the level over their number (Bonferroni).
    if (deciding := next((i for i, (_, tiny) in enumerate(against) if tiny), -1)) >= 0:
        reason = _deciding_reason(findings, deciding, significant=True)
        return replace(findings[deciding], verdict="contradicted", detail="no effect that matters", reason=reason)
    # Smaller: with a margin of ours one statement misses its edge, and none is contradicted.
    if any(member.null for member in members) and any(holm_rejections(p_values, criterion.tail)):
        deciding = min(range(len(findings)), key=p_values.__getitem__)
        reason = _deciding_reason(findings, deciding, significant=True)
        detail: Detail | None = "direction open"
        if findings[deciding].verdict == "smaller":
            detail = findings[deciding].detail
        return replace(findings[deciding], verdict="smaller", detail=detail, reason=reason)
    # Supported: every statement is, each at the full level (Berger, 1982).
    unsupported = [i for i, finding in enumerate(findings) if finding.verdict != "supported"]
    deciding = unsupported[0] if unsupported else min(range(len(findings)), key=p_values.__getitem__)
    word: VerdictLabel = "undecided" if unsupported else "supported"
    beyond_doubt = replace(criterion, next_level=criterion.next_level / len(members))
    if unsupported and not _lies_inside(members[deciding], criterion):
        # To contradict, it alone has to be wrong after Holm over all.
        findings[deciding] = _member_finding(members[deciding], n_min, beyond_doubt)
    reason = _deciding_reason(findings, deciding, significant=False)
    return replace(findings[deciding], verdict=word, detail=None, reason=reason)


def _lies_inside(member: Member, criterion: Criterion) -> bool:
    """Whether the estimate of a member lies in its region, or of a share the greater part of its seeds."""
    if criterion.about == "share":
        k, n, _ = region_counts(member.sample, member.allowed)
        return 2 * k >= n
    return interval_of(member.sample, criterion).estimate in member.allowed


def _contradiction(
    member: Member, finding: Finding, n_min: int, criterion: Criterion, n_members: int
) -> tuple[float, bool]:
    """The p value of a member against the sentence itself, and whether its effect is too small to matter."""
    if member.null is None:
        return region_p_value(member.sample, member.allowed, criterion), False
    up = member.allowed.low is not None
    own_side = Region(low=member.null.value) if up else Region(high=member.null.value)
    p = region_p_value(member.sample, own_side, criterion)
    if finding.detail != "no effect that matters":
        return p, False
    stricter = replace(criterion, level=criterion.level / n_members)
    return p, _member_finding(member, n_min, stricter).detail == "no effect that matters"


def _member_finding(member: Member, n_min: int, criterion: Criterion) -> Finding:
    """The finding of one statement alone, with its remark."""
    finding = judge_sample(member.statistic, member.sample, member.allowed, n_min, criterion, member.null)
    return replace(finding, reason=f"{finding.reason}; {member.remark}") if member.remark else finding


def region_p_value(sample: Sample, allowed: Region, criterion: Criterion = ONE_LOOK) -> float:
    """One-sided p against the region: how likely so bad a sample is if the truth lies on the nearest edge."""
    if criterion.about == "share":
        k, n, unranked = region_counts(sample, allowed)
        return sign_test_p_value(k + unranked, n)
    if criterion.about == "median":
        sides = []  # a median is beyond an edge or not, so each edge is tested by itself
        if allowed.low is not None:
            sides.append(Region(low=allowed.low))
        if allowed.high is not None:
            sides.append(Region(high=allowed.high))
        counts = [region_counts(sample, side) for side in sides]
        return min((sign_test_p_value(k + unranked, n) for k, n, unranked in counts), default=1.0)
    interval = interval_of(sample, replace(criterion, about="mean"))
    mean, low, high = interval.estimate, allowed.bottom, allowed.top
    if sample.log:  # an edge at or below 0 is one that no positive number crosses
        mean, low, high = (math.log(x) if x > 0 else -math.inf for x in (mean, low, high))
    return student_p_value(max(mean - high, low - mean), interval.sd, interval.n)


def _deciding_reason(findings: Sequence[Finding], deciding: int, *, significant: bool) -> str:
    """The deciding member's reason, and how many of all hold."""
    n_supported = sum(member.verdict == "supported" for member in findings)
    finding = findings[deciding]
    reason = f"{finding.statistic}: {finding.reason}; {n_supported} of {len(findings)} statements hold"
    uncertain = finding.verdict == "contradicted" and not significant
    return f"{reason}; this one is not wrong beyond doubt after Holm over {len(findings)}" if uncertain else reason


def holm_rejections(p: Sequence[float], alpha: float) -> list[bool]:
    """``p_(i) ≤ α / (m - i + 1)`` for i = 1, 2, ... until the first failure: the step-down test (Holm, 1979).

    Args:
        p: of several hypotheses.
        alpha: the largest chance of any wrong rejection.

    Returns:
        Of each whether it is rejected.
    """
    rejected = [False] * len(p)
    for rank, i in enumerate(sorted(range(len(p)), key=p.__getitem__)):
        if p[i] > alpha / (len(p) - rank):
            break
        rejected[i] = True
    return rejected
