"""Values of a resolved setting: when one is what a selection wants, and how a reader sees it."""

import json
from collections.abc import Mapping

from lnlab.keys import Json
from lnlab.setting import members

NONE = "none"
"""The empty list of choices, as a spec writes it."""


def matches(value: Json, wanted: Json) -> bool:
    """Whether a value is what was asked for: one of a list, a choice of that kind, or the same scalar.

    A mapping asks for its own keys only; of a list of choices, a word asks for one of that kind, and ``none`` for an
    empty one; ``true`` is not 1.
    """
    if isinstance(wanted, list | tuple):
        return (isinstance(value, list | tuple) and list(value) == list(wanted)) or any(
            matches(value, each) for each in wanted
        )
    if isinstance(value, Mapping) and isinstance(wanted, Mapping):
        return all(key in value and matches(value[key], each) for key, each in wanted.items())
    if isinstance(value, Mapping):
        return "kind" in value and matches(value["kind"], wanted)
    if isinstance(value, list | tuple) and isinstance(wanted, str):
        return wanted == NONE if not value else bool(members(value, wanted))
    if isinstance(value, bool) or isinstance(wanted, bool):
        return value is wanted
    return bool(value == wanted)


def is_choices(value: Json) -> bool:
    """Whether it is a list of choices, the empty one included."""
    return isinstance(value, list | tuple) and all(isinstance(each, Mapping) and "kind" in each for each in value)


def place(where: Mapping[str, Json]) -> str:
    """Sites as a reader says them: ``decoder last feed_forward sum``; several words of one key with a stroke."""
    given = [each if isinstance(each, list | tuple) else [each] for each in where.values() if each is not None]
    return " ".join("/".join(map(str, words)) for words in given) or "everywhere"


def label(value: Json) -> str:
    """A value of an axis as a reader sees it: a word, a number, or ``rms (eps 1e-06)``."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping) and "kind" in value:
        params = ", ".join(_param(name, inner) for name, inner in value.items() if name != "kind")
        return f"{value['kind']} ({params})" if params else str(value["kind"])
    if is_choices(value):
        return " and ".join(map(label, value)) or NONE
    return json.dumps(value, ensure_ascii=False)


def _param(name: str, value: Json) -> str:
    return place(value) if isinstance(value, Mapping) and "kind" not in value else f"{name} {label(value)}"
