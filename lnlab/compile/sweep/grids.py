"""sweep -> grids: the axes of each with their values, pins applied, and the partial points that are left out.

A value of an axis sets one path; a value of the axis ``method`` is a name, and sets all that the name stands for.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from lnlab.compile.source_spans import UNKNOWN, Spot
from lnlab.compile.sweep.methods import Effect, meaning
from lnlab.compile.sweep.overlay import EXCEPT, Draft, Found
from lnlab.errors import nearest
from lnlab.keys import Json, canonical
from lnlab.registry import Flaw, Flawed, Where
from lnlab.setting import split
from lnlab.specfile.columns import METHOD
from lnlab.specfile.experiment import SETTING
from lnlab.specfile.read import Reading

MOST_POINTS = 1_000_000


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis of one grid: where it was written, its values, and what each of them sets."""

    path: str
    spot: Spot
    values: tuple[Json, ...]
    effects: tuple[tuple[Effect, ...], ...]


@dataclass(frozen=True, slots=True)
class Grid:
    """The axes as the spec writes them, and partial points (axis number -> value numbers) to leave out."""

    axes: tuple[Axis, ...]
    without: tuple[Mapping[int, frozenset[int]], ...] = ()


def grids(reading: Reading, draft: Draft) -> tuple[list[Grid], Found]:
    """The grids with pins applied, and what is wrong with them. Without a sweep, one grid without axes."""
    sweep = reading.experiment.sweep
    if sweep is None:
        return [Grid(())], []
    found: Found = []
    made = [_grid(given, reading.path(("sweep", number)), draft, found) for number, given in enumerate(sweep)]
    for number, given in enumerate(sweep):
        if METHOD not in given and any(METHOD in other for other in sweep):
            place = reading.path(("sweep", number))
            flaw = Flaw(place, f"this grid has no {METHOD}, and another has one", f"add it: {{{METHOD}: [name, ...]}}")
            found.append((draft.spot(place), flaw))
    size = sum(prod(len(axis.values) for axis in grid.axes) for grid in made)
    if size > MOST_POINTS:
        flaw = Flaw(("sweep",), f"{size:,} points; at most {MOST_POINTS:,}", "sweep fewer values")
        return [Grid(())], [*found, (draft.spot(("sweep",)), flaw)]
    return made, found


def _grid(given: Mapping[str, Sequence[Json]], place: Where, draft: Draft, found: Found) -> Grid:
    """One grid, of those of its axes that can be set."""
    written = {path: values for path, values in given.items() if path != EXCEPT}
    axes = [axis for path, values in written.items() if (axis := _axis(path, values, place, draft, found))]
    found += _set_twice(axes)
    if not written:
        found.append((draft.spot(place), Flaw(place, "a grid without axes", "write {path: [value, ...]}")))
    without = []
    for number, partial in enumerate(given.get(EXCEPT, ())):
        wrong = _wrong_exception(partial, written, (*place, EXCEPT, number), draft)
        found += wrong
        without += [] if wrong else [_numbers(partial, axes)]
    return Grid(tuple(axes), tuple(without))


def _axis(path: str, values: Sequence[Json], place: Where, draft: Draft, found: Found) -> Axis | None:
    """The axis with the values that the file or a pin gives it, or None; what is wrong is put into ``found``."""
    key, spots = draft.spot((*place, path)), [draft.spot((*place, path, i)) for i in range(len(values))]
    if (pin := draft.pins.get(path)) is not None:
        several = isinstance(pin.value, list)
        key, values = pin.spot, pin.value if several else [pin.value]
        spots = [pin.spot.below((i,)) if several else pin.spot for i in range(len(values))]
    if path != METHOD and (remedy := _unknown(path)):
        found.append((key, Flaw((), f"unknown key '{path}' in the sweep", remedy)))
        return None
    if not values:
        found.append((key, Flaw((), f"the axis '{path}' is empty", "give at least one value")))
    if path == METHOD:
        return _of_names(values, spots, key, draft, found)
    effects = [(Effect(path, value, key, spot),) for value, spot in zip(values, spots, strict=True)]
    return Axis(path, key, tuple(values), tuple(effects)) if values else None


def _of_names(names: Sequence[Json], spots: Sequence[Spot], key: Spot, draft: Draft, found: Found) -> Axis:
    """The axis of those names that stand for something, without what cannot be set."""
    known: dict[Json, tuple[Effect, ...]] = {}
    for name, spot in zip(names, spots, strict=True):
        try:
            effects = meaning(name, draft.data, draft.spot)
        except Flawed as error:
            found += [(spot, flaw) for flaw in error.flaws]
            continue
        for each in effects:
            if remedy := _unknown(each.path):
                found.append((each.key, Flaw((), f"unknown key '{each.path}' in the method '{name}'", remedy)))
        known[name] = tuple(each for each in effects if not _unknown(each.path))
    return Axis(METHOD, key, tuple(known), tuple(known.values()))


def _set_twice(axes: Sequence[Axis]) -> Found:
    """Paths that a grid sweeps although one of its methods sets them."""
    swept = {axis.path: axis.spot for axis in axes}
    return [
        (swept[each.path], Flaw((), f"'{each.path}' is swept, and the method '{name}' sets it", "keep one of them"))
        for axis in axes
        if axis.path == METHOD
        for name, effects in zip(axis.values, axis.effects, strict=True)
        for each in effects
        if each.path in swept
    ]


def _unknown(path: str) -> str | None:
    """What to write instead of a path that sets nothing; None where it is one that does."""
    words = split(path)
    return None if words[0] in SETTING and all(words) else nearest(words[0], SETTING)


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
