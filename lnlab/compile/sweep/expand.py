"""grids -> points: the union of the grids, each the product of its axes without its exceptions.

A point is not a whole setting but, for each top-level key, one part that many points share, so that a hundred
thousand points cost a hundred thousand small lookups.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from operator import itemgetter

from lnlab.compile.setting_paths import put
from lnlab.compile.source_spans import Spot, about_key
from lnlab.compile.sweep.grids import Axis, Grid
from lnlab.compile.sweep.methods import Effect
from lnlab.compile.sweep.overlay import Draft, Found
from lnlab.keys import Json, canonical
from lnlab.registry import Flaw, Flawed
from lnlab.setting import split
from lnlab.specfile.columns import METHOD
from lnlab.specfile.experiment import SETTING


@dataclass(frozen=True, slots=True)
class Part:
    """What stands under one top-level key, with its canonical text."""

    raw: Json
    text: str


@dataclass(frozen=True, slots=True)
class Point:
    """One point of one grid: a part for each top-level key, and which value of each axis made it."""

    parts: Mapping[str, Part]
    grid: Grid
    chosen: tuple[int, ...]

    @property
    def method(self) -> Json:
        """The name that the spec gives to its setting, or None."""
        pairs = zip(self.grid.axes, self.chosen, strict=True)
        return next((axis.values[number] for axis, number in pairs if axis.path == METHOD), None)

    def spot(self, flaw: Flaw, draft: Draft) -> Spot:
        """Where what is wrong with the point's setting was written: an axis, a method, an overlay or the file."""
        path = flaw.path
        covering = [
            (words, each)
            for axis, number in zip(self.grid.axes, self.chosen, strict=True)
            for each in axis.effects[number]
            if path[: len(words := split(each.path))] == words
        ]
        if not covering:
            return draft.spot(path)
        words, effect = max(covering, key=lambda found: len(found[0]))
        return effect.key if words == path and about_key(flaw) else effect.spot.below(path[len(words) :])


def points(draft: Draft, made: Sequence[Grid], found: Found) -> Iterator[Point]:
    """Every point of every grid, in the order of the file, the last axis fastest.

    An axis that leads into a number or a list is put into ``found``, and moves nothing.
    """
    base = {key: _part(draft.data[key]) for key in SETTING if key in draft.data}
    for grid in made:
        tables = [_table(base, key, numbers, grid, found) for key, numbers in _by_key(grid).items()]
        for chosen in product(*(range(len(axis.values)) for axis in grid.axes)):
            if grid.without and any(all(chosen[a] in values for a, values in w.items()) for w in grid.without):
                continue
            parts = dict(base)
            for pick, table in tables:
                parts |= table[pick(chosen)]
            yield Point(parts, grid, chosen)


def _part(raw: Json) -> Part:
    return Part(raw, canonical(raw))


def _by_key(grid: Grid) -> dict[str, list[int]]:
    """Top-level key -> numbers of the axes with a value that sets something under it."""
    found: dict[str, list[int]] = {}
    for number, axis in enumerate(grid.axes):
        for key in dict.fromkeys(split(each.path)[0] for effects in axis.effects for each in effects):
            found.setdefault(key, []).append(number)
    return found


def _table(
    base: Mapping[str, Part], key: str, numbers: list[int], grid: Grid, found: Found
) -> tuple["itemgetter[Json]", dict[Json, dict[str, Part]]]:
    """What stands under ``key``, if anything does, for each combination of the values of its axes."""
    axes = [grid.axes[number] for number in numbers]
    table: dict[Json, dict[str, Part]] = {}
    wrong: dict[str, tuple[Spot, Flaw]] = {}
    for combination in product(*(range(len(axis.values)) for axis in axes)):
        raw = base[key].raw if key in base else None
        effects = _effects(axes, combination, key)
        for each in effects:
            try:
                raw = put(raw, each.path, each.value)
            except Flawed as error:
                wrong.setdefault(each.path, (each.spot, error.flaws[0].below(each.path)))
        there = {key: _part(raw)} if effects or key in base else {}
        table[combination if len(combination) > 1 else combination[0]] = there
    found += wrong.values()
    return itemgetter(*numbers), table


def _effects(axes: Sequence[Axis], combination: Sequence[int], key: str) -> list[Effect]:
    """What these values set under ``key``, shorter paths first."""
    every = (each for axis, number in zip(axes, combination, strict=True) for each in axis.effects[number])
    return sorted((e for e in every if split(e.path)[0] == key), key=lambda e: len(split(e.path)))
