"""sweep -> points: a union of grids, each the product of its axes without its exceptions.

A point is not a whole setting but, for each top-level key, one part that many points share, so that a hundred
thousand points cost a hundred thousand small lookups.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from operator import itemgetter

from lnlab.compile.overlay import EXCEPT, Draft, Found
from lnlab.compile.paths import assign, split
from lnlab.compile.places import UNKNOWN, Spot, about_key
from lnlab.errors import nearest
from lnlab.keys import Json, canonical
from lnlab.registry import Flaw, Flawed, Where
from lnlab.spec.experiment import SETTING
from lnlab.spec.read import Reading

MOST_POINTS = 1_000_000


@dataclass(frozen=True, slots=True)
class Part:
    """What stands under one top-level key, with its canonical text."""

    raw: Json
    text: str


@dataclass(frozen=True, slots=True)
class Axis:
    """A path, the values it takes in one grid, and where it and each of them was written."""

    path: str
    spot: Spot
    values: tuple[Json, ...]
    spots: tuple[Spot, ...]


@dataclass(frozen=True, slots=True)
class Grid:
    """The axes as the spec writes them, and partial points (axis number -> value numbers) to leave out."""

    axes: tuple[Axis, ...]
    without: tuple[Mapping[int, frozenset[int]], ...] = ()


@dataclass(frozen=True, slots=True)
class Point:
    """One point of one grid: a part for each top-level key, and which value of each axis made it."""

    parts: Mapping[str, Part]
    grid: Grid
    chosen: tuple[int, ...]

    def spot(self, flaw: Flaw, draft: Draft) -> Spot:
        """Where what is wrong with the point's setting was written: an axis, an overlay or the file."""
        path = flaw.path
        covering = [
            (words, axis.spots[number].below(path[len(words) :]), axis.spot)
            for axis, number in zip(self.grid.axes, self.chosen, strict=True)
            if path[: len(words := split(axis.path))] == words
        ]
        if not covering:
            return draft.spot(path)
        words, value, key = max(covering, key=lambda found: len(found[0]))
        return key if words == path and about_key(flaw) else value


def grids(reading: Reading, draft: Draft) -> tuple[list[Grid], Found]:
    """The grids with pins applied, and what is wrong with them. Without a sweep, one grid without axes."""
    if reading.experiment.sweep is None:
        return [Grid(())], []
    found: Found = []
    made = [
        _grid(given, reading.path(("sweep", number)), draft, found)
        for number, given in enumerate(reading.experiment.sweep)
    ]
    size = sum(prod(len(axis.values) for axis in grid.axes) for grid in made)
    if size > MOST_POINTS:
        flaw = Flaw(("sweep",), f"{size:,} points; at most {MOST_POINTS:,}", "sweep fewer values")
        return [Grid(())], [*found, (draft.spot(("sweep",)), flaw)]
    return made, found


def _grid(given: Mapping[str, Sequence[Json]], place: Where, draft: Draft, found: Found) -> Grid:
    """One grid, of those of its axes that can be set."""
    written = {path: values for path, values in given.items() if path != EXCEPT}
    axes = []
    for path, values in written.items():
        axis = _axis(path, values, place, draft)
        wrong = _unsettable(axis)
        found += wrong
        axes += [] if wrong else [axis]
    if not written:
        found.append((draft.spot(place), Flaw(place, "a grid without axes", "write {path: [value, ...]}")))
    without = []
    for number, partial in enumerate(given.get(EXCEPT, ())):
        wrong = _wrong_exception(partial, written, (*place, EXCEPT, number), draft)
        found += wrong
        without += [] if wrong else [_numbers(partial, axes)]
    return Grid(tuple(axes), tuple(without))


def _axis(path: str, values: Sequence[Json], place: Where, draft: Draft) -> Axis:
    pin = draft.pins.get(path)
    if pin is None:
        here = draft.spot((*place, path))
        return Axis(path, here, tuple(values), tuple(here.below((i,)) for i in range(len(values))))
    if isinstance(pin.value, list):
        return Axis(path, pin.spot, tuple(pin.value), tuple(pin.spot.below((i,)) for i in range(len(pin.value))))
    return Axis(path, pin.spot, (pin.value,), (pin.spot,))


def _unsettable(axis: Axis) -> Found:
    words, spot = split(axis.path), axis.spot
    if words[0] not in SETTING or not all(words):
        return [(spot, Flaw((), f"unknown key '{axis.path}' in the sweep", nearest(words[0], SETTING)))]
    if not axis.values:
        return [(spot, Flaw((), f"the axis '{axis.path}' is empty", "give at least one value"))]
    return []


def _wrong_exception(partial: Json, written: Mapping[str, Sequence[Json]], here: Where, draft: Draft) -> Found:
    """What is wrong with an exception: it must name axes of its grid, and values that they have in the file."""
    if not isinstance(partial, dict) or not partial:
        return [(draft.spot(here), Flaw(here, "an exception is a partial point", "write {path: value}"))]
    found: Found = []
    for path, value in partial.items():
        spot = draft.spot((*here, path))
        if path not in written:
            flaw = Flaw((*here, path), f"{UNKNOWN} '{path}'; it is no axis of this grid", nearest(path, written))
            found.append((spot, flaw))
        elif not any(_excepted(each, value) for each in written[path]):
            known = ", ".join(map(canonical, written[path]))
            found.append((spot, Flaw((*here, path), f"the axis has no value {canonical(value)}", f"it has {known}")))
    return found


def _excepted(value: Json, excepted: Json) -> bool:
    """Whether this value of an axis is what an exception names (or one of a list that it names)."""
    wanted = excepted if isinstance(excepted, list) else [excepted]
    return canonical(value) in {canonical(each) for each in [*wanted, excepted]}


def _numbers(partial: Mapping[str, Json], axes: Sequence[Axis]) -> dict[int, frozenset[int]]:
    """An exception as value numbers of axis numbers; a value that was pinned away is none of them."""
    return {
        number: frozenset(i for i, each in enumerate(axis.values) if _excepted(each, partial[axis.path]))
        for number, axis in enumerate(axes)
        if axis.path in partial
    }


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
            yield Point({**base, **{key: table[pick(chosen)] for key, pick, table in tables}}, grid, chosen)


def _part(raw: Json) -> Part:
    return Part(raw, canonical(raw))


def _by_key(grid: Grid) -> dict[str, list[int]]:
    """Top-level key -> numbers of the axes under it."""
    found: dict[str, list[int]] = {}
    for number, axis in enumerate(grid.axes):
        found.setdefault(split(axis.path)[0], []).append(number)
    return found


def _table(
    base: Mapping[str, Part], key: str, numbers: list[int], grid: Grid, found: Found
) -> tuple[str, "itemgetter[Json]", dict[Json, Part]]:
    """The part under ``key`` for each combination of the values of its axes; shorter paths are set first."""
    axes = [grid.axes[number] for number in numbers]
    order = sorted(range(len(axes)), key=lambda i: len(split(axes[i].path)))
    table: dict[Json, Part] = {}
    wrong: dict[str, tuple[Spot, Flaw]] = {}
    for combination in product(*(range(len(axis.values)) for axis in axes)):
        raw = base[key].raw if key in base else None
        for i in order:
            try:
                raw = assign(raw, split(axes[i].path)[1:], axes[i].values[combination[i]])
            except Flawed as error:
                wrong[axes[i].path] = (axes[i].spots[0], error.flaws[0].below(axes[i].path))
        table[combination if len(combination) > 1 else combination[0]] = _part(raw)
    found += wrong.values()
    return key, itemgetter(*numbers), table
