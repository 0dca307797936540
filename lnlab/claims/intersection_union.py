"""Several statements that must all hold: intersection-union to support, Holm to contradict.

Supported iff each one is, with no correction (Berger, 1982); contradicted iff one of them is wholly wrong after Holm's
(1979) step-down over all of them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from lnlab.analyse.statistics.intervals import at_most_half, tail
from lnlab.claims.claim import Finding, Word
from lnlab.claims.holm import holm
from lnlab.claims.region import Region
from lnlab.claims.sample import Sample, counted, notes, obstacle
from lnlab.claims.student import interval_of, judged, measured, ranks

ALPHA = 0.025


@dataclass(frozen=True)
class Member:
    """One of the statements: what its numbers are, the numbers, where they must lie, and a remark on the ruling."""

    statistic: str
    sample: Sample
    allowed: Region
    remark: str = ""


def together(members: Sequence[Member], n_min: int) -> Finding:
    """The finding over all members; estimate, interval and seeds are those of the member that decides.

    That is the one furthest beyond its edge if the claim is contradicted, else the first that keeps it from support,
    else the one nearest to its edge.
    """
    if len(members) == 1:
        return _judged(members[0], n_min)
    reasons = [reason + notes(m.sample) for m in members if (reason := obstacle(m.sample, n_min))]
    if reasons:
        return replace(measured(members[0].statistic, members[0].sample, members[0].allowed), reason=reasons[0])
    found = [_judged(member, n_min) for member in members]
    wrong = [wholly_wrong(m) for m in members]
    if any(holm(wrong, ALPHA)):
        shown = min(range(len(found)), key=wrong.__getitem__)
        return replace(found[shown], verdict="contradicted", reason=_told(found, shown, sure=True))
    short = [i for i, finding in enumerate(found) if finding.verdict != "supported"]
    shown = short[0] if short else min(range(len(found)), key=wrong.__getitem__)
    word: Word = "undecided" if short else "supported"
    return replace(found[shown], verdict=word, reason=_told(found, shown, sure=False))


def _judged(member: Member, n_min: int) -> Finding:
    """The finding of one statement alone, with its remark."""
    found = judged(member.statistic, member.sample, member.allowed, n_min)
    return replace(found, reason=f"{found.reason}; {member.remark}") if member.remark else found


def wholly_wrong(member: Member) -> float:
    """One-sided p against the region: how likely so bad a sample is if the truth lies on the nearest edge."""
    sample, allowed = member.sample, member.allowed
    if counted(sample):
        k, n, unranked = ranks(sample, allowed)
        return at_most_half(k + unranked, n)
    found = interval_of(sample)
    mean, low, high = (_scaled(x, log=sample.log) for x in (found.estimate, allowed.bottom, allowed.top))
    return tail(max(mean - high, low - mean), found.sd, found.n)


def _scaled(x: float, *, log: bool) -> float:
    if not log or x == math.inf:
        return x
    return math.log(x) if x > 0 else -math.inf


def _told(found: Sequence[Finding], shown: int, *, sure: bool) -> str:
    """The deciding member's reason, and how many of all hold."""
    hold = sum(finding.verdict == "supported" for finding in found)
    told = f"{found[shown].statistic}: {found[shown].reason}; {hold} of {len(found)} statements hold"
    doubted = found[shown].verdict == "contradicted" and not sure
    return f"{told}; this one is not wrong beyond doubt after Holm over {len(found)}" if doubted else told
