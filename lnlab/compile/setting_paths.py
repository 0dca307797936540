"""Dotted paths into settings as a spec writes them: set one. Resolved ones are read by ``lnlab.setting``."""

from lnlab.keys import Json
from lnlab.registry import Flaw, Flawed
from lnlab.setting import STACKS, members, split
from lnlab.specfile.values import NONE

SHORT = ("norm", "placement", "attention")
"""Choices that may be given once for all stacks; so may ``layers``, under ``model``."""
INTERVENTIONS = "interventions"
"""The key that holds a list of choices."""


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
