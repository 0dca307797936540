"""Methods: names that stand for several settings at once.

``methods: {T-Fixup: {norm: none, init: t_fixup}}`` makes ``T-Fixup`` a value of the axis ``method``: a point that has
it has all that the name stands for. The name itself is part of no setting, and so of no key.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from lnlab.errors import nearest
from lnlab.issues import Issue, Where
from lnlab.keys import Json, canonical
from lnlab.registry import Flawed

METHODS = "methods"


@dataclass(frozen=True)
class StatedValue:
    """A path of the spec, the value that is stated for it, and its place: a path in the data, or an argument."""

    path: str
    value: Json
    place: str | Where


@dataclass(frozen=True)
class Effect(StatedValue):
    """A path that a value of an axis sets. ``key`` is the place of the path itself."""

    key: str | Where


def methods_of(data: Mapping[str, Json]) -> dict[str, dict[str, Json]]:
    """The methods of a spec by name, without those that are no mapping, which the grammar reports."""
    methods = data.get(METHODS)
    named = methods if isinstance(methods, dict) else {}
    return {name: overlay for name, overlay in named.items() if isinstance(overlay, dict)}


def below(place: str | Where, tail: Where) -> str | Where:
    """The place of a part of what stands at ``place``. In an argument no part has a place of its own."""
    return place if isinstance(place, str) else (*place, *tail)


def method_effects(name: Json, data: Mapping[str, Json]) -> tuple[Effect, ...]:
    """All that a name stands for.

    Raises:
        Flawed: no method has that name.
    """
    known = methods_of(data)
    if not isinstance(name, str) or name not in known:
        word = f"'{name}'" if isinstance(name, str) else canonical(name)
        remedy = nearest(word, known) if known else f"define it under '{METHODS}:'"
        raise Flawed(Issue("unknown-name", (), f"no method is called {word}", remedy))
    places: dict[str, Where] = {path: (METHODS, name, path) for path in known[name]}
    return tuple(Effect(path, value, places[path], places[path]) for path, value in known[name].items())
