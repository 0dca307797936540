"""Dotted paths into raw and resolved settings: set one, and read one."""

from functools import lru_cache

from lnlab.keys import Json
from lnlab.registry import Flaw, Flawed
from lnlab.spec.depths import depth_at, depths_of
from lnlab.spec.values import MISSING, NONE, inside, members

STACKS = ("encoder", "decoder")
SHORT = ("norm", "placement", "attention")
"""Choices that may be given once for all stacks; so may ``layers``, under ``model``."""
INTERVENTIONS = "interventions"
"""The key that holds a list of choices."""


@lru_cache(maxsize=4096)
def split(path: str) -> tuple[str, ...]:
    """``model.layers`` as its words."""
    return tuple(path.split("."))


def put(given: Json, path: str, value: Json) -> Json:
    """What stands under the first word of ``path``, with ``value`` at the rest of it.

    Raises:
        Flawed: as in ``assign``.
    """
    first, *rest = split(path)
    return assign(several(given) if rest and first == INTERVENTIONS else given, tuple(rest), value)


def several(given: Json) -> list[Json]:
    """A list of choices as a spec writes it: ``none``, one choice, or a list."""
    return given if isinstance(given, list) else [] if given in (None, NONE) else [given]


def assign(given: Json, path: tuple[str, ...], value: Json) -> Json:
    """``given`` with ``value`` at ``path``; nothing is changed in place. A bare word becomes a mapping first.

    Raises:
        Flawed: the path leads into a number, or into a list in which not exactly one choice is of that kind.
    """
    if not path:
        return value
    if isinstance(given, list) and any(isinstance(each, str | dict) for each in given):
        return _assign_in(given, path, value)
    if isinstance(given, str):
        given = {"kind": given}
    if given is not None and not isinstance(given, dict):
        raise Flawed(Flaw((), f"'{path[0]}' cannot be set inside a value that is no mapping", "set the whole of it"))
    made = given or {}
    return {**made, path[0]: assign(made.get(path[0]), path[1:], value)}


def _assign_in(given: list[Json], path: tuple[str, ...], value: Json) -> Json:
    choices = [{"kind": each} if isinstance(each, str) else each for each in given]
    places = members(choices, path[0])
    if len(places) != 1:
        what = f"{'none' if not places else 'more than one'} of the list is of kind '{path[0]}'"
        raise Flawed(Flaw((), what, "set the whole of it"))
    choices[places[0]] = assign(choices[places[0]], path[1:], value)
    return choices


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
        value = inside(value).get(word, MISSING)
        if value is MISSING:
            return MISSING
    return value


def paths_of(value: Json, prefix: str = "") -> list[str]:
    """Every path of a resolved setting (or of a part of it), short forms and depths included at the top."""
    found = []
    for word, inner in value.items():
        path = f"{prefix}{word}"
        found.append(path)
        if below := inside(inner):
            found += paths_of(below, f"{path}.")
    if not prefix:
        stacks = stacks_of(value)
        found += [p for stack in stacks[:1] for word in SHORT for p in paths_of({word: value[stack][word]}, " ")]
        found += ["model.layers"] * bool(stacks) + depths_of(value)
    return [path.strip() for path in found]
