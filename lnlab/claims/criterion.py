"""What judges a claim besides its region: level, estimand, whose the margin is, and which value is named.

Where the margin is the sentence's own, the interval decides by the region alone:

    inside: supported
    disjoint: contradicted
    else: undecided

Where it is ours and leaves ``no_effect`` out, the sentence says only on which side of that the truth lies (here
above):

    low >= edge: supported
    high < no_effect: contradicted, the other way
    within the zone around no_effect: contradicted, no effect that matters
    high < edge: smaller, in its direction if low > no_effect, else direction open
    else: undecided

Where it is ours and asks for no effect (it holds ``no_effect``, has two edges, or nobody knows of such a value), the
interval decides as for a margin of the sentence, but outside of the range the word is beyond (``our_margin``).

Each word has its own probability of being wrong, at most half the level (Berger, 1982).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lnlab.analyse.statistics.intervals import Interval
from lnlab.claims.bounded import is_all_or_nothing, is_fraction, is_rate
from lnlab.claims.looks import DeclaredLooks, level
from lnlab.claims.region import Region
from lnlab.claims.significance import ALPHA, holds_value
from lnlab.claims.verdict_details import Detail, LawWord
from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.specfile.about import default_about, near_a_bound
from lnlab.specfile.experiment import About, MarginOwner, VerdictWord

FINISHING = 0.8
"""The share of each arm's runs that must finish before trained numbers are compared, unless a claim says otherwise."""


@dataclass(frozen=True)
class Null:
    """The value without an effect, and the zone around it in which no effect matters, empty by default."""

    value: float
    zone_low: float = math.inf
    zone_high: float = -math.inf


@dataclass(frozen=True)
class Criterion:
    """What judges a claim besides its region. The default: one look, the mean, the sentence's own margin.

    Attributes:
        level: two-sided, of this look.
        next_level: of the look after this one, by which the seeds are counted that would decide.
        about: mean, median or share of the seeds.
        margin: whose the region is.
        no_effect: the value without an effect, where the claim states it.
        zone: how far from it no effect matters: a factor for ratios, else a distance.
        law: the value that the sentence names.
        finish: the share of each arm's runs that must finish.
        sizes: the declared numbers of seeds of all looks. Empty where none are declared.
        seen: whether these seeds were looked at before, by the rules of that day. Any further seed is another look.
    """

    level: float = ALPHA
    next_level: float = ALPHA / 4
    about: About = "mean"
    margin: MarginOwner = "source"
    no_effect: float | None = None
    zone: float | None = None
    law: float | None = None
    finish: float = FINISHING
    sizes: tuple[int, ...] = ()
    seen: bool = False

    @property
    def tail(self) -> float:
        """The level of one side."""
        return self.level / 2

    def null(self, natural: float | None, allowed: Region, *, ratio: bool) -> Null | None:
        """What a margin of ours is measured from, or None where it is the sentence's own or asks for no effect.

        Args:
            natural: the value without an effect, of this kind of claim.
            allowed: the region.
            ratio: whether a distance is a factor.
        """
        value = natural if self.no_effect is None else self.no_effect
        if self.margin == "source" or value is None or (allowed.low is None) == (allowed.high is None):
            return None
        if allowed.bottom < value < allowed.top:
            return None
        if self.zone is None:
            return Null(value)
        ends = (value / self.zone, value * self.zone) if ratio else (value - self.zone, value + self.zone)
        return Null(value, *ends)


ONE_LOOK = Criterion()
"""The criterion of a claim that declares nothing."""


def interval_word(
    low: float, high: float, allowed: Region, null: Null | None = None
) -> tuple[VerdictWord, Detail | None]:
    """The verdict of an interval, and what it says beyond its word."""
    if allowed.bottom <= low and high <= allowed.top:
        return "supported", None
    below = high < allowed.bottom
    outside = below or low > allowed.top
    if null is None:
        return ("contradicted" if outside else "undecided"), None
    up = allowed.low is not None  # the sentence says: above
    if high < null.value if up else low > null.value:
        return "contradicted", "the other way"
    if null.zone_low < low and high < null.zone_high:
        return "contradicted", "no effect that matters"
    if not outside:
        return "undecided", None
    return "smaller", "in its direction" if (low > null.value if up else high < null.value) else "direction open"


def law_word(interval: Interval, law: float | None) -> LawWord | None:
    """Whether an interval holds the value that a sentence names, up to rounding."""
    if law is None or interval.n < 2 or math.isnan(interval.low):
        return None
    return "compatible" if holds_value(interval.low, interval.high, law) else "rejected"


def named_law(claim: Mapping[str, Any]) -> float | None:
    """The value that a claim names: its ``law``, or what it equals, or its exponent."""
    for word in ("law", "equals", "exponent"):
        value = claim.get(word)
        # The `law` of a fit is a name. A bool is an int in Python, and no value here.
        if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
    return None


def criterion_of(
    claim: Mapping[str, Any], possible: Sequence[About], look: int, *, names_law: bool, seen: bool = False
) -> Criterion:
    """The criterion of a claim at a look.

    Args:
        claim: its common fields and the parameters of its kind, resolved or not.
        possible: what its kind can be judged about, the usual one first.
        look: its number, from 1.
        names_law: whether its kind has a value that a sentence can name.
        seen: whether this look has been before.

    Raises:
        LabError: more looks than were declared.
    """
    declared: DeclaredLooks = claim.get("looks") or 1
    try:
        this = level(look, declared)
    except ValueError as error:
        remedy = "state a new claim, and judge it on fresh seeds (claim_seeds)"
        raise LabError(Issue("conflict", "looks", str(error), remedy)) from error
    of = claim.get("of") or {}
    edges = claim["between"] if claim.get("between") is not None else (claim.get("at_least"), claim.get("at_most"))
    skewed = is_rate(of) or (claim["kind"] == "bound" and is_fraction(of, claim.get("reduce")) and near_a_bound(edges))
    usual = default_about(possible, all_or_nothing=is_all_or_nothing(of), near_bound=skewed)
    return Criterion(
        level=this,
        # Of declared sizes the last look has none after it.
        next_level=level(look + 1, declared) if isinstance(declared, int | str) or look < len(declared) else this,
        about=claim.get("about") or usual or "mean",
        margin=claim.get("margin") or "source",
        no_effect=claim.get("no_effect"),
        zone=claim.get("zone"),
        law=named_law(claim) if names_law else None,
        finish=FINISHING if claim.get("finish") is None else claim["finish"],
        sizes=() if isinstance(declared, int | str) else tuple(declared),
        seen=seen,
    )
