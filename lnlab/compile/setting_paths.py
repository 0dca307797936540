"""Paths into settings as a spec writes them: set one, and look for one. ``lnlab.setting`` reads resolved settings."""

from lnlab.issues import Issue, Where
from lnlab.keys import Json
from lnlab.registry import Flawed
from lnlab.setting import STACKS, path_words, positions_of_kind
from lnlab.specfile.values import NONE

STACK_CHOICES = ("norm", "placement", "attention")
"""Choices that may be given once for all stacks, as may ``layers`` under ``model``."""
INTERVENTIONS = "interventions"
"""The key that holds a list of choices."""


def set_path(part: Json, path: str, value: Json) -> Json:
    """``part``, which a setting has under the first word of ``path``, with ``value`` at the remaining words.

    Raises:
        Flawed: as in ``assign``.
    """
    first, *tail = path_words(path)
    if tail and first == INTERVENTIONS and not isinstance(part, list):
        (choice,) = assign(as_choices(part), tuple(tail), value)  # stays one choice, as it is written
        return choice
    return assign(part, tuple(tail), value)


def as_choices(raw: Json) -> list[Json]:
    """A list of choices as a spec writes it: ``none``, one choice, or a list."""
    return raw if isinstance(raw, list) else [] if raw in (None, NONE) else [raw]


def assign(base: Json, path: tuple[str, ...], value: Json) -> Json:
    """A copy of ``base`` with ``value`` at ``path``. A bare word becomes a mapping first.

    Raises:
        Flawed: the path leads into a number, or into a list in which not exactly one choice is of that kind.
    """
    if not path:
        return value
    if isinstance(base, list) and any(isinstance(choice, str | dict) for choice in base):
        choices = [{"kind": choice} if isinstance(choice, str) else choice for choice in base]
        positions = positions_of_kind(choices, path[0])
        if len(positions) != 1:
            what = f"{'none' if not positions else 'more than one'} of the list is of kind '{path[0]}'"
            raise Flawed(Issue("ambiguous", (), what, "set the whole of it"))
        choices[positions[0]] = assign(choices[positions[0]], path[1:], value)
        return choices
    if isinstance(base, str):
        base = {"kind": base}
    if base is not None and not isinstance(base, dict):
        raise Flawed(
            Issue("wrong-type", (), f"'{path[0]}' cannot be set, as its owner is not a mapping", "set the whole of it")
        )
    mapping = base or {}
    return {**mapping, path[0]: assign(mapping.get(path[0]), path[1:], value)}


def is_written(raw: Json, path: Where) -> bool:
    """Whether a spec states something at ``path`` of ``raw``. A bare word is the ``kind`` of its choice."""
    for key in path:
        if isinstance(raw, str) and key == "kind":
            return True
        present = key in raw if isinstance(raw, dict) else isinstance(raw, list) and key in range(len(raw))
        if not present:
            return False
        raw = raw[key]
    return True


def stacks_of(setting: dict[str, Json]) -> tuple[str, ...]:
    """The stacks that a resolved setting has."""
    return tuple(stack for stack in STACKS if stack in setting)
