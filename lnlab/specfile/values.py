"""Values of a resolved setting: whether one meets the condition of a selection, and how it is printed."""

import json
from collections.abc import Mapping

from lnlab.keys import Json, canonical
from lnlab.setting import positions_of_kind

NONE = "none"
"""The empty list of choices, as a spec writes it."""


def matches(value: Json, condition: Json) -> bool:
    """Whether a value meets the condition of a selection: one of a list, a choice of that kind, or the same scalar.

    A mapping restricts its own keys only. A list of choices meets a word if it has a choice of that kind, and ``none``
    if it is empty. ``true`` is not 1.
    """
    if isinstance(condition, list | tuple):
        # A list of choices may be named whole; otherwise the condition lists alternatives.
        return (isinstance(value, list | tuple) and list(value) == list(condition)) or any(
            matches(value, alternative) for alternative in condition
        )
    if isinstance(value, Mapping) and isinstance(condition, Mapping):
        return all(key in value and matches(value[key], inner) for key, inner in condition.items())
    if isinstance(value, Mapping):
        return "kind" in value and matches(value["kind"], condition)
    if isinstance(value, list | tuple) and isinstance(condition, str):
        return condition == NONE if not value else bool(positions_of_kind(value, condition))
    if isinstance(value, bool) or isinstance(condition, bool):
        return value is condition
    return bool(value == condition)


def is_choices(value: Json) -> bool:
    """Whether it is a list of choices, the empty one included."""
    return isinstance(value, list | tuple) and all(isinstance(choice, Mapping) and "kind" in choice for choice in value)


def site_label(where: Mapping[str, Json]) -> str:
    """Sites in words: ``decoder last feed_forward sum``. Several words of one key are joined by a slash."""
    present = [words for words in where.values() if words is not None]
    word_lists = [words if isinstance(words, list | tuple) else [words] for words in present]
    return " ".join("/".join(map(str, words)) for words in word_lists) or "everywhere"


def value_label(value: Json) -> str:
    """A value of an axis as it is printed: a word, a number, or ``rms (eps 1e-06)``."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping) and "kind" in value:
        # A mapping without a kind names sites, which read as a phrase without the name of their parameter.
        parameters = ", ".join(
            site_label(inner) if isinstance(inner, Mapping) and "kind" not in inner else f"{name} {value_label(inner)}"
            for name, inner in value.items()
            if name != "kind"
        )
        return f"{value['kind']} ({parameters})" if parameters else str(value["kind"])
    if is_choices(value):
        return " and ".join(map(value_label, value)) or NONE
    return json.dumps(value, ensure_ascii=False)


def kind_label(value: Json) -> str:
    """A value as a reader writes it: a choice by its kind, a list of them by their kinds."""
    if isinstance(value, Mapping) and "kind" in value:
        return str(value["kind"])
    if is_choices(value):
        return " and ".join(map(kind_label, value)) or NONE
    return value if isinstance(value, str) else canonical(value)
