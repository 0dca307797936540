"""Methods: names that stand for several settings at once.

``methods: {T-Fixup: {norm: none, init: t_fixup}}`` makes ``T-Fixup`` a value of the axis ``method``: a point that has
it has all that the name stands for. The name itself is part of no setting, and so of no key.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from lnlab.errors import nearest
from lnlab.issues import Issue, SourceLocation, Where
from lnlab.keys import Json, canonical
from lnlab.registry import Flawed

METHODS = "methods"


@dataclass(frozen=True)
class StatedValue:
    """A path of the spec, the value that is stated for it, and where the value was written."""

    path: str
    value: Json
    location: SourceLocation


@dataclass(frozen=True)
class Effect(StatedValue):
    """A path that a value of an axis sets. ``key`` is where the path itself was written."""

    key: SourceLocation


def methods_of(data: Mapping[str, Json]) -> dict[str, dict[str, Json]]:
    """The methods of a spec by name, without those that are no mapping, which the grammar reports."""
    methods = data.get(METHODS)
    named = methods if isinstance(methods, dict) else {}
    return {name: overlay for name, overlay in named.items() if isinstance(overlay, dict)}


def method_effects(
    name: Json, data: Mapping[str, Json], location: Callable[[Where], SourceLocation] = SourceLocation
) -> tuple[Effect, ...]:
    """All that a name stands for. ``location`` maps a path of the data to where it was written.

    Raises:
        Flawed: no method has that name.
    """
    known = methods_of(data)
    if not isinstance(name, str) or name not in known:
        word = f"'{name}'" if isinstance(name, str) else canonical(name)
        remedy = nearest(word, known) if known else f"define it under '{METHODS}:'"
        raise Flawed(Issue("unknown-name", (), f"no method is called {word}", remedy))
    locations = {path: location((METHODS, name, path)) for path in known[name]}
    return tuple(Effect(path, value, locations[path], locations[path]) for path, value in known[name].items())
