"""Several statements that must all hold: intersection-union to support, Holm to contradict.

Supported iff each one is, with no correction (Berger, 1982); contradicted iff one of them is wholly wrong after Holm's
(1979) step-down over all of them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from lnlab.analyse.statistics.intervals import sign_test_p_value, student_p_value
from lnlab.claims.claim import Finding, VerdictLabel
from lnlab.claims.region import Region
from lnlab.claims.sample import Sample, exclusion_notes, reason_counted, reason_undecided
from lnlab.claims.student import interval_of, judge_sample, region_counts, undecided_finding

ONE_SIDED_LEVEL = 0.025


@dataclass(frozen=True)
class Member:
    """One of the statements: what its numbers are, the numbers, where they must lie, and a remark on the ruling."""

    statistic: str
    sample: Sample
    allowed: Region
    remark: str = ""


def intersection_union(members: Sequence[Member], n_min: int) -> Finding:
    """The finding over all members; estimate, interval and seeds are those of the member that decides.

    That is the one furthest beyond its edge if the claim is contradicted, else the first that keeps it from support,
    else the one nearest to its edge.
    """
    if len(members) == 1:
        return _member_finding(members[0], n_min)
    reasons = [reason + exclusion_notes(m.sample) for m in members if (reason := reason_undecided(m.sample, n_min))]
    if reasons:
        return replace(
            undecided_finding(members[0].statistic, members[0].sample, members[0].allowed), reason=reasons[0]
        )
    findings = [_member_finding(member, n_min) for member in members]
    p_values = [region_p_value(m) for m in members]
    if any(holm_rejections(p_values, ONE_SIDED_LEVEL)):
        deciding = min(range(len(findings)), key=p_values.__getitem__)
        reason = _deciding_reason(findings, deciding, significant=True)
        return replace(findings[deciding], verdict="contradicted", reason=reason)
    unsupported = [i for i, finding in enumerate(findings) if finding.verdict != "supported"]
    deciding = unsupported[0] if unsupported else min(range(len(findings)), key=p_values.__getitem__)
    word: VerdictLabel = "undecided" if unsupported else "supported"
    reason = _deciding_reason(findings, deciding, significant=False)
    return replace(findings[deciding], verdict=word, reason=reason)


def _member_finding(member: Member, n_min: int) -> Finding:
    """The finding of one statement alone, with its remark."""
    finding = judge_sample(member.statistic, member.sample, member.allowed, n_min)
    return replace(finding, reason=f"{finding.reason}; {member.remark}") if member.remark else finding


def region_p_value(member: Member) -> float:
    """One-sided p against the region: how likely so bad a sample is if the truth lies on the nearest edge."""
    sample = member.sample
    allowed = member.allowed
    if reason_counted(sample):
        k, n, unranked = region_counts(sample, allowed)
        return sign_test_p_value(k + unranked, n)
    interval = interval_of(sample)
    mean, low, high = (_on_scale(x, log=sample.log) for x in (interval.estimate, allowed.bottom, allowed.top))
    return student_p_value(max(mean - high, low - mean), interval.sd, interval.n)


def _on_scale(x: float, *, log: bool) -> float:
    if not log or x == math.inf:
        return x
    return math.log(x) if x > 0 else -math.inf


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
