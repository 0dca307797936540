"""Dotted paths into raw and resolved settings: set one, read one, compare what stands there with what is wanted."""

from functools import lru_cache
from typing import Final

from lnlab.keys import Json
from lnlab.registry import Flaw, Flawed
from lnlab.spec.depths import depth_at, depths_of

STACKS = ("encoder", "decoder")
SHORT = ("norm", "placement", "attention")
"""Choices that may be given once for all stacks; so may ``layers``, under ``model``."""

MISSING: Final = object()
"""Nothing stands at that path."""


@lru_cache(maxsize=4096)
def split(path: str) -> tuple[str, ...]:
    """``model.layers`` as its words."""
    return tuple(path.split("."))


def assign(given: Json, path: tuple[str, ...], value: Json) -> Json:
    """``given`` with ``value`` at ``path``; nothing is changed in place. A bare word becomes a mapping first.

    Raises:
        Flawed: the path leads into a number or a list.
    """
    if not path:
        return value
    if isinstance(given, str):
        given = {"kind": given}
    if given is not None and not isinstance(given, dict):
        raise Flawed(Flaw((), f"'{path[0]}' cannot be set inside a value that is no mapping", "set the whole of it"))
    made = given or {}
    return {**made, path[0]: assign(made.get(path[0]), path[1:], value)}


def stacks_of(setting: dict[str, Json]) -> tuple[str, ...]:
    """The stacks that a resolved setting has."""
    return tuple(stack for stack in STACKS if stack in setting)


def value_at(setting: dict[str, Json], path: str) -> Json:
    """What a resolved setting holds at ``path``, or ``MISSING``.

    A short form (``placement``, ``norm.eps``, ``model.layers``) is there where the stacks agree. A depth follows from
    the setting.
    """
    if (depth := depth_at(setting, path)) is not None:
        return depth
    words = split(path)
    if words[0] in SHORT:
        return _agreed([_descend(setting[stack], words) for stack in stacks_of(setting)])
    if words == ("model", "layers"):
        return _agreed([setting[stack]["layers"] for stack in stacks_of(setting)])
    return _descend(setting, words)


def _agreed(found: list[Json]) -> Json:
    return found[0] if found and all(each == found[0] for each in found) else MISSING


def _descend(value: Json, words: tuple[str, ...]) -> Json:
    for word in words:
        if not isinstance(value, dict) or word not in value:
            return MISSING
        value = value[word]
    return value


def paths_of(value: Json, prefix: str = "") -> list[str]:
    """Every path of a resolved setting (or of a part of it), short forms and depths included at the top."""
    found = []
    for word, inner in value.items():
        path = f"{prefix}{word}"
        found.append(path)
        if isinstance(inner, dict):
            found += paths_of(inner, f"{path}.")
    if not prefix:
        stacks = stacks_of(value)
        found += [p for stack in stacks[:1] for word in SHORT for p in paths_of({word: value[stack][word]}, " ")]
        found += ["model.layers"] * bool(stacks) + depths_of(value)
    return [path.strip() for path in found]


def matches(found: Json, wanted: Json) -> bool:
    """Whether what stands in a setting is what a selection wants.

    A list wants any of its members; a word against a choice compares its kind; a truth value is no number.
    """
    if isinstance(wanted, list | tuple) and not isinstance(found, list | tuple):
        return any(matches(found, each) for each in wanted)
    if isinstance(found, dict) and isinstance(wanted, str):
        return found.get("kind") == wanted
    if isinstance(found, bool) is not isinstance(wanted, bool):
        return False
    return bool(found == wanted)
