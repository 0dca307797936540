"""A claim about every place alike: one statement for each site that a selection takes."""

from collections.abc import Sequence
from typing import Literal

from lnlab.analyse.select.select import Selection, select
from lnlab.keys import Json
from lnlab.tables import Results

_Column = Literal["stack", "layer", "sublayer", "tensor", "index"]
Each = list[_Column] | None
"""Columns; the claim must hold at every combination of their values."""


def places(results: Results, of: Selection, each: Sequence[str] | None) -> list[dict[str, Json]]:
    """What narrows ``of`` to each of its places, in order; one that narrows nothing where none is asked for.

    Before anything is measured there are no places to tell apart.
    """
    if not each:
        return [{}]
    taken = select(results, of).select(each).unique().sort(each, nulls_last=True)
    return taken.to_dicts() or [{}]


def at(statistic: str, place: dict[str, Json]) -> str:
    """The statistic with its place: ``exponent at encoder, layer 2, feed_forward``."""
    given = {key: word for key, word in place.items() if word is not None}
    words = [f"{key} {word}" if key in ("layer", "index") else str(word) for key, word in given.items()]
    return f"{statistic} at {', '.join(words)}" if words else statistic
