"""The declared region R of a claim.

An interval inside it supports the claim. An interval disjoint from it contradicts the claim. The probability of each
wrong verdict is at most half the level, whatever the truth. For a two-sided region these are two one-sided tests
(Schuirmann, 1987).
"""

import math
import sys
from dataclasses import dataclass

from lnlab.errors import LabError
from lnlab.issues import Issue


@dataclass(frozen=True)
class Region:
    """A closed region. None is unbounded."""

    low: float | None = None
    high: float | None = None

    def __contains__(self, value: float) -> bool:
        return self.bottom <= value <= self.top

    @property
    def bottom(self) -> float:
        """The lower edge as a number."""
        return -math.inf if self.low is None else self.low

    @property
    def top(self) -> float:
        """The upper edge as a number."""
        return math.inf if self.high is None else self.high

    @property
    def edges(self) -> tuple[float | None, float | None]:
        """Both edges as they are printed: a number next to 0, which leaves 0 out, is 0."""
        low, high = (None if e is None else 0.0 if abs(e) < sys.float_info.min else e for e in (self.low, self.high))
        return low, high

    def __str__(self) -> str:
        low, high = self.edges
        if low is None:
            return f"at most {number_text(high)}"
        return f"at least {number_text(low)}" if high is None else f"between {number_text(low)} and {number_text(high)}"


def edge_left_out(
    region_low: float | None, region_high: float | None, low: float | None, high: float | None
) -> float | None:
    """The edge of a region, as it is printed, at which an interval ends that is disjoint from it.

    The region then leaves this edge out, as an order does with no difference, and says so. A ratio below 1 has the
    number next to 1 for an edge.
    """
    for edge, end in ((region_low, high), (region_high, low)):
        if edge is not None and end is not None and math.isclose(edge, end, rel_tol=1e-15):
            return edge
    return None


def number_text(value: float | None) -> str:
    """A number in a sentence: three significant digits, and a minus sign that is no hyphen."""
    text = f"{value:.3g}"
    return f"−{text[1:]}" if text.startswith("-") else text


def declared_region(
    between: tuple[float, float] | None = None,
    at_least: float | None = None,
    at_most: float | None = None,
    *,
    positive: bool = False,
    **others: Region | None,
) -> Region:
    """The one region that a claim declares.

    Args:
        between: two edges.
        at_least: the lower edge alone.
        at_most: the upper edge alone.
        positive: refuse edges that have no logarithm.
        others: regions that a kind declares by other words, by word. None where the word is not used.

    Raises:
        LabError: none or more than one is declared, or the edges are in the wrong order or not positive.
    """
    options = {
        "between": Region(*between) if between else None,
        "at_least": None if at_least is None else Region(low=at_least),
        "at_most": None if at_most is None else Region(high=at_most),
    } | others
    declared = {name: option for name, option in options.items() if option}
    if len(declared) != 1:
        what = f"declares {' and '.join(declared) or 'no range'}"
        raise LabError(Issue("conflict", "", what, f"give one of {', '.join(options)}"))
    ((name, allowed),) = declared.items()
    if allowed.bottom > allowed.top:
        raise LabError(
            Issue("out-of-range", name, f"{allowed.low:g} is above {allowed.high:g}", "write the lower end first")
        )
    if positive and min(x for x in (allowed.low, allowed.high) if x is not None) <= 0:
        raise LabError(
            Issue("out-of-range", name, "an end that is not positive", "on the log scale every end is above zero")
        )
    return allowed


def ratio_region(
    between: tuple[float, float] | None = None,
    at_least: float | None = None,
    at_most: float | None = None,
    equals: float | None = None,
    factor: float = 1.25,
) -> Region:
    """The region of a claim about a ratio: declared edges, or ``equals/factor`` to ``equals * factor``.

    Raises:
        LabError: as ``declared_region``, or the factor accepts nothing.
    """
    if factor <= 1:
        raise LabError(Issue("no-effect", "factor", f"{factor:g} accepts nothing", "give a factor above 1"))
    near = None if equals is None else Region(equals / factor, equals * factor)
    return declared_region(between, at_least, at_most, positive=True, equals=near)


def edge_distance(estimate: float, allowed: Region, *, log: bool) -> float:
    """How far the estimate lies from the nearest edge of the region, on the scale of the test."""
    edges = [e for e in (allowed.low, allowed.high) if e is not None]
    if log:
        return min((abs(math.log(estimate / e)) for e in edges if e > 0 and estimate > 0), default=math.inf)
    return min((abs(estimate - e) for e in edges), default=math.inf)
