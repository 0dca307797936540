"""On which side of a range of ours the numbers of a claim lie that asks for no effect."""

from collections.abc import Mapping
from typing import Any

from lnlab.claims.region import Region
from lnlab.claims.verdict_details import Detail
from lnlab.select.quantity import quantities
from lnlab.select.selection import value_list
from lnlab.vocabulary.quantities import MEASURED

_ONE_WAY = ("value", "difference", "ratio")
"""Measures whose numbers are better where those of their quantity are: not an exponent, nor an effect on an effect."""


def side_of_range(
    claim: Mapping[str, Any], interval: tuple[float | None, float | None], region: Region, measure: str | None
) -> Detail | None:
    """The side of the accepted range on which an interval lies, or None where it is not known.

    Args:
        claim: resolved or not.
        interval: disjoint from the region.
        region: the accepted range.
        measure: what the numbers are.
    """
    low, high = interval
    if low is None or high is None or not (low > region.top or high < region.bottom):
        return None
    above = low > region.top
    larger_is = _larger_number_is(claim, region, measure)
    if not larger_is:
        return "above the range" if above else "below the range"
    return "better than the range" if above == (larger_is == "better") else "worse than the range"


def _larger_number_is(claim: Mapping[str, Any], region: Region, measure: str | None) -> str:
    """``better``, ``worse`` or "": what a larger number of this measure means.

    A claim may say so of the numbers of its seeds. Else the words of its quantity do, where the claim is about one
    side of a comparison: of two that are said to be alike, none is the better one for being named first.
    """
    names = value_list((claim.get("of") or {}).get("quantity"))
    usual = {_of_quantity(name) for name in names if isinstance(name, str)}
    stated: str = claim.get("larger_is") or ""
    larger = stated or (usual.pop() if len(usual) == 1 else "")
    if measure == "share":
        # More seeds in a range with a lower edge have large numbers, in one with an upper edge small ones.
        up, down = claim.get("at_least") is not None, claim.get("at_most") is not None
        if not larger or up == down:
            return ""
        return larger if up else {"better": "worse", "worse": "better"}[larger]
    alike = claim["kind"] == "order" and None not in (region.low, region.high)
    one_way = measure in _ONE_WAY and claim["kind"] != "interaction" and not alike
    return larger if one_way else stated


def _of_quantity(name: str) -> str:
    words = quantities.entries[name].facts.words if name in quantities.entries else MEASURED.get(name)
    return words.larger_is if words else ""
