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
from lnlab.compile.places import Spot
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
    """A path, the values it takes in one grid, and where each was written."""

    path: str
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

    def spot(self, path: Where, draft: Draft) -> Spot:
        """Where the thing at ``path`` of the point's setting was written: an axis, an overlay or the file."""
        covering = [
            (len(words), axis.spots[number].below(path[len(words) :]))
            for axis, number in zip(self.grid.axes, self.chosen, strict=True)
            if path[: len(words := split(axis.path))] == words
        ]
        return max(covering, key=itemgetter(0))[1] if covering else draft.spot(path)


def grids(reading: Reading, draft: Draft) -> tuple[list[Grid], Found]:
    """The grids with pins applied, and what is wrong with them. Without a sweep, one grid without axes."""
    if reading.experiment.sweep is None:
        return [Grid(())], []
    made: list[Grid] = []
    found: Found = []
    for number, given in enumerate(reading.experiment.sweep):
        place = reading.path(("sweep", number))
        axes = {path: _axis(path, values, place, draft) for path, values in given.items() if path != EXCEPT}
        found += [wrong for axis in axes.values() for wrong in _unsettable(axis, draft.spot((*place, axis.path)))]
        if not axes:
            found.append((draft.spot(place), Flaw(place, "a grid without axes", "write {path: [value, ...]}")))
        written = {path: tuple(values) for path, values in given.items() if path != EXCEPT}
        without, wrong = _exceptions(
            tuple(given.get(EXCEPT, ())), list(axes.values()), written, (*place, EXCEPT), draft
        )
        found += wrong
        made.append(Grid(tuple(axes.values()), without))
    size = sum(prod(len(axis.values) for axis in grid.axes) for grid in made)
    if size > MOST_POINTS:
        flaw = Flaw(("sweep",), f"{size:,} points; at most {MOST_POINTS:,}", "sweep fewer values")
        return [Grid(())], [*found, (draft.spot(("sweep",)), flaw)]
    return made, found


def _axis(path: str, values: Sequence[Json], place: Where, draft: Draft) -> Axis:
    pin = draft.pins.get(path)
    if pin is None:
        return Axis(path, tuple(values), tuple(draft.spot((*place, path, i)) for i in range(len(values))))
    if isinstance(pin.value, list):
        return Axis(path, tuple(pin.value), tuple(_inside(pin.spot, i) for i in range(len(pin.value))))
    return Axis(path, (pin.value,), (pin.spot,))


def _inside(spot: Spot, i: int) -> Spot:
    return spot.below((i,))


def _unsettable(axis: Axis, spot: Spot) -> Found:
    words = split(axis.path)
    if words[0] not in SETTING or not all(words):
        return [(spot, Flaw((), f"unknown key '{axis.path}' in the sweep", nearest(words[0], SETTING)))]
    if not axis.values:
        return [(spot, Flaw((), f"the axis '{axis.path}' is empty", "give at least one value"))]
    return []


def _exceptions(
    given: Sequence[Json], axes: list[Axis], written: Mapping[str, tuple[Json, ...]], place: Where, draft: Draft
) -> tuple[tuple[Mapping[int, frozenset[int]], ...], Found]:
    """Each exception as value numbers of axis numbers. One that names no axis or no value of the file is a flaw."""
    made: list[Mapping[int, frozenset[int]]] = []
    found: Found = []
    paths = [axis.path for axis in axes]
    for number, partial in enumerate(given):
        here = (*place, number)
        if not isinstance(partial, dict) or not partial:
            found.append((draft.spot(here), Flaw(here, "an exception is a partial point", "write {path: value}")))
            continue
        for path, value in partial.items():
            if path not in written:
                flaw = Flaw((*here, path), f"unknown key '{path}'; it is no axis of this grid", nearest(path, written))
                found.append((draft.spot((*here, path)), flaw))
            elif not any(_wanted(each, value) for each in written[path]):
                known = ", ".join(map(canonical, written[path]))
                flaw = Flaw((*here, path), f"the axis has no value {canonical(value)}", f"it has {known}")
                found.append((draft.spot((*here, path)), flaw))
        if set(partial) <= set(paths):
            made.append(
                {paths.index(path): _numbers(axes[paths.index(path)], value) for path, value in partial.items()}
            )
    return tuple(made), found


def _wanted(value: Json, excepted: Json) -> bool:
    """Whether an exception's value (or one of its list of values) is this value of the axis."""
    wanted = excepted if isinstance(excepted, list) else [excepted]
    return canonical(value) in {canonical(each) for each in [*wanted, excepted]}


def _numbers(axis: Axis, value: Json) -> frozenset[int]:
    return frozenset(i for i, each in enumerate(axis.values) if _wanted(each, value))


class Astray(Exception):
    """An axis leads into a number or a list."""

    def __init__(self, spot: Spot, flaw: Flaw) -> None:
        super().__init__(flaw.what)
        self.spot, self.flaw = spot, flaw


def points(draft: Draft, made: Sequence[Grid]) -> Iterator[Point]:
    """Every point of every grid, in the order of the file, the last axis fastest.

    Raises:
        Astray: an axis leads into a number or a list.
    """
    base = {key: _part(draft.data[key]) for key in SETTING if key in draft.data}
    for grid in made:
        tables = [_table(base, key, numbers, grid) for key, numbers in _by_key(grid).items()]
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
    base: Mapping[str, Part], key: str, numbers: list[int], grid: Grid
) -> tuple[str, "itemgetter[Json]", dict[Json, Part]]:
    """The part under ``key`` for each combination of the values of its axes; shorter paths are set first."""
    axes = [grid.axes[number] for number in numbers]
    order = sorted(range(len(axes)), key=lambda i: len(split(axes[i].path)))
    table: dict[Json, Part] = {}
    for combination in product(*(range(len(axis.values)) for axis in axes)):
        raw = base[key].raw if key in base else None
        for i in order:
            try:
                raw = assign(raw, split(axes[i].path)[1:], axes[i].values[combination[i]])
            except Flawed as error:
                raise Astray(axes[i].spots[0], error.flaws[0].below(axes[i].path)) from error
        table[combination if len(combination) > 1 else combination[0]] = _part(raw)
    return key, itemgetter(*numbers), table
