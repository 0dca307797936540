"""A claim about several sites: one statement for each site that a selection takes."""

from collections.abc import Sequence
from typing import Literal

from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.keys import Json
from lnlab.select.select import select_measured_rows
from lnlab.select.selection import Conditions
from lnlab.tables import Results

_Column = Literal["stack", "layer", "sublayer", "tensor", "index"]
SiteColumns = list[_Column] | None
"""Columns at whose every combination of values the claim must hold."""


def site_conditions(
    results: Results, of: Conditions, columns: Sequence[str] | None, to: Conditions | None = None
) -> list[dict[str, Json]]:
    """The conditions that narrow ``of`` to each of its sites, in order. Without ``columns`` one empty condition.

    Before anything is measured there are no places to tell apart.

    Raises:
        LabError: ``to`` sets one of the columns, so that both sides of a comparison would be at one site.
    """
    if not columns:
        return [{}]
    for column in columns:
        if column in (to or {}):
            raise LabError(Issue("conflict", "each", f"'to' sets {column}", "leave it out of one of the two"))
    sites = select_measured_rows(results, of).select(columns).unique().sort(columns, nulls_last=True)
    return sites.to_dicts() or [{}]


def statistic_at(statistic: str, site: dict[str, Json]) -> str:
    """The statistic with its place: ``exponent at encoder, layer 2, feed_forward``."""
    known = {key: word for key, word in site.items() if word is not None}
    words = [f"{key} {word}" if key in ("layer", "index") else str(word) for key, word in known.items()]
    return f"{statistic} at {', '.join(words)}" if words else statistic
