"""The same test at the other settings of an experiment."""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from lnlab.claims.claim import Claim
from lnlab.keys import Json, canonical
from lnlab.specfile.columns import COLUMNS
from lnlab.tables import Results

_COMPARED = ("method", "placement", "norm", "attention", "init", "interventions", "schedule")
"""First words of paths at which experiments differ in what they compare: another value there is another question."""
_SIDES = ("of", "to", "less", "less_to")


@dataclass(frozen=True)
class OtherSetting:
    """A claim as it would stand at another value of a setting that it names in its selections and varies nowhere.

    Attributes:
        path: of the setting.
        own: its value in the claim.
        value: the other value.
        claim: with that value.
    """

    path: str
    own: Json
    value: Json
    claim: Claim


def other_settings(claim: Claim, results: Results) -> Iterator[OtherSetting]:
    """The claim at every other value that the experiment has of a number which its selections pin.

    Left out are what is compared (methods, placements, norms, schedules), the depth of one stack, and what the claim
    itself compares or runs over.
    """
    of = claim.get("of")
    if not isinstance(of, Mapping):
        return
    for path, own in of.items():
        if not is_number(own) or path in COLUMNS or path == claim.get("over"):
            continue
        if path.partition(".")[0] in _COMPARED or path in ("encoder.layers", "decoder.layers"):
            continue
        if any(side.get(path, own) != own for side in sides_of(claim)):
            continue
        for value in levels_of_axis(results, path):
            if is_number(value) and not math.isclose(float(value), float(own)):
                yield OtherSetting(path, own, value, _moved(claim, path, own, value))


def levels_of_axis(results: Results, path: str) -> list[Json]:
    """The values of an axis that were run, numbers rising."""
    texts = results.axes.filter(pl.col("axis") == path)["value"].unique()
    values = [json.loads(text) for text in texts]
    return sorted(values, key=lambda value: (not is_number(value), value if is_number(value) else canonical(value)))


def _moved(claim: Claim, path: str, own: Json, value: Json) -> Claim:
    """The claim, with what it requires, at another value of a path wherever it has its own."""
    moved: dict[str, Any] = dict(claim)
    for word in _SIDES:
        if isinstance(moved.get(word), Mapping) and moved[word].get(path) == own:
            moved[word] = {**moved[word], path: value}
    if moved.get("requires"):
        moved["requires"] = [_moved(required, path, own, value) for required in moved["requires"]]
    return moved


def sides_of(claim: Claim) -> list[Mapping[str, Json]]:
    """What a claim states of each of its selections."""
    return [claim[word] for word in _SIDES if isinstance(claim.get(word), Mapping)]


def is_number(value: Json) -> bool:
    """Whether a value of a setting is a number."""
    return isinstance(value, int | float) and not isinstance(value, bool)
