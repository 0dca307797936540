"""The settings of a run as its user states them: nested, plain, and told apart from columns."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.keys import Json, canonical
from lnlab.printable import has_half
from lnlab.specfile.columns import COLUMNS, METHOD, TIMES
from lnlab.specfile.references import REFERENCE
from lnlab.specfile.values import value_label

_TAKEN = frozenset({*COLUMNS, METHOD, TIMES, REFERENCE, "quantity", "measurement", "trajectory", "for_each", "grid"})

SPLIT_OF = {"val": "validation", "eval": "validation", "validation": "validation", "test": "test", "train": "train"}
"""Beginnings of the names of numbers, and the split that they are of."""


def nested_settings(settings: Mapping[str, Any]) -> dict[str, Json]:
    """Settings by dotted path as nested mappings.

    Raises:
        LabError: one has the name of a column, is no plain value, or stands above another.
    """
    nested: dict[str, Json] = {}
    for path, value in settings.items():
        if path in _TAKEN:
            what = f"the setting '{path}' has the name of a column of lnlab's tables"
            raise LabError(Issue("conflict", "settings", what, "call it something else"))
        try:
            canonical(value)
        except (TypeError, ValueError) as error:
            what = f"the setting '{path}' is {type(value).__name__}, which is no plain value"
            raise LabError(
                Issue("unreadable", "settings", what, "give a word, a number, a list or a mapping of these")
            ) from error
        if has_half(json.dumps([str(path), value], ensure_ascii=False)):
            what = f"the setting {str(path)!a} has half a character, a lone surrogate"
            raise LabError(Issue("not-text", "settings", what, "decode the text that it is from as UTF-8"))
        *above, word = str(path).split(".")
        inner = nested
        for key in above:
            inner = inner.setdefault(key, {})
            if not isinstance(inner, dict):
                raise LabError(
                    Issue(
                        "out-of-range",
                        "settings",
                        f"'{path}' stands below a setting with a value",
                        "rename one of them",
                    )
                )
        inner[word] = value
    return nested


def leaves(settings: Mapping[str, Json], above: str = "") -> Iterator[tuple[str, Json]]:
    """Every value by its dotted path."""
    for key, value in settings.items():
        if isinstance(value, Mapping) and "kind" not in value:
            yield from leaves(value, f"{above}{key}.")
        else:
            yield f"{above}{key}", value


def differing_settings(old: Mapping[str, Json], new: Mapping[str, Json]) -> str:
    """``lr 0.001, not 0.003``: how settings differ, or nothing."""
    before, after = dict(leaves(old)), dict(leaves(new))
    texts = [
        f"{path} {_shown(before, path)}, not {_shown(after, path)}"
        for path in {**before, **after}
        if path not in before or path not in after or canonical(before[path]) != canonical(after[path])
    ]
    return "; ".join(texts)


def _shown(values: Mapping[str, Json], path: str) -> str:
    return value_label(values[path]) if path in values else "not given"


def split_and_quantity(name: str) -> tuple[str, str]:
    """The split and the quantity of a number by its name: ``val_loss`` and ``val/loss`` are the validation loss.

    What stands behind one split and names another, as in ``train/val_loss``, is no quantity: the whole name is.
    """
    for mark in ("/", "_"):
        beginning, separator, rest = name.partition(mark)
        if separator and rest and beginning in SPLIT_OF:
            return SPLIT_OF[beginning], rest if split_and_quantity(rest)[1] == rest else name
    return "train", name
