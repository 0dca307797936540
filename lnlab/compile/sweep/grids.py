"""sweep -> grids: the axes of each with their values, pins applied, and the partial points that are left out.

A value of an axis sets one path. A value of the axis ``method`` is a name, and sets all that the name stands for.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from lnlab.compile.sweep.methods import METHODS, Effect, below, method_effects, methods_of
from lnlab.compile.sweep.overlay import EXCEPT, MergedSpec
from lnlab.errors import listed, nearest
from lnlab.issues import Issue, Where
from lnlab.keys import Json, canonical
from lnlab.registry import Flawed
from lnlab.setting import path_words
from lnlab.specfile.columns import METHOD
from lnlab.specfile.experiment import SETTING
from lnlab.specfile.read import Reading

MOST_POINTS = 150_000


@dataclass(frozen=True, slots=True)
class SweepAxis:
    """An axis of one grid: its place, its values, and what each of them sets."""

    path: str
    place: str | Where
    values: tuple[Json, ...]
    effects: tuple[tuple[Effect, ...], ...]


@dataclass(frozen=True, slots=True)
class SweepGrid:
    """The axes as the spec writes them, and partial points (axis number -> value numbers) to leave out."""

    axes: tuple[SweepAxis, ...]
    without: tuple[Mapping[int, frozenset[int]], ...] = ()


def pinned_grids(reading: Reading, merged: MergedSpec) -> tuple[list[SweepGrid], list[Issue]]:
    """The grids with pins applied, and what is wrong with them. Without a sweep, one grid without axes."""
    sweep = reading.experiment.sweep
    issues = [  # also in methods that no grid names
        Issue("unknown-key", (METHODS, name, path), f"unknown key '{path}' in the method '{name}'", remedy, named=())
        for name, stated in methods_of(merged.data).items()
        for path in stated
        if (remedy := _remedy_of_path(path))
    ]
    if sweep is None:
        return [SweepGrid(())], issues
    sweep_grids = [_grid(grid, reading.path(("sweep", number)), merged, issues) for number, grid in enumerate(sweep)]
    for number, grid in enumerate(sweep):
        if METHOD not in grid and any(METHOD in other for other in sweep):
            where = reading.path(("sweep", number))
            what = f"this grid has no {METHOD}, and another has one"
            issues.append(Issue("missing", where, what, f"add it: {{{METHOD}: [name, ...]}}"))
    size = sum(prod(len(axis.values) for axis in grid.axes) for grid in sweep_grids)
    if size > MOST_POINTS:
        flaw = Issue("too-large", ("sweep",), f"{size:,} points; at most {MOST_POINTS:,}", "sweep fewer values")
        # One point stands for all, so that what is wrong with the base is told as well.
        return [SweepGrid(())], [*issues, flaw]
    return sweep_grids, issues


def _grid(grid: Mapping[str, Sequence[Json]], where: Where, merged: MergedSpec, issues: list[Issue]) -> SweepGrid:
    """A grid of the axes that can be set. What is wrong with the others, or with exceptions, is added to ``issues``."""
    written = {path: values for path, values in grid.items() if path != EXCEPT}
    axes = [axis for path, values in written.items() if (axis := _axis(path, values, where, merged, issues))]
    swept = {axis.path: axis.place for axis in axes}
    for axis in axes:
        if axis.path == METHOD:
            issues += [
                Issue("duplicate", swept[effect.path], what, "keep one of them", named=())
                for name, effects in zip(axis.values, axis.effects, strict=True)
                for effect in effects
                if effect.path in swept
                for what in [f"'{effect.path}' is swept, and the method '{name}' sets it"]
            ]
    if not written:
        issues.append(Issue("missing", where, "a grid without axes", "write {path: [value, ...]}"))
    without = []
    for number, partial in enumerate(grid.get(EXCEPT, ())):
        exception_issues = _issues_of_exception(partial, written, (*where, EXCEPT, number))
        issues += exception_issues
        if not exception_issues:  # a value that was pinned away has no number, so that nothing is left out for it
            without.append(
                {
                    i: frozenset(n for n, value in enumerate(axis.values) if _is_excepted(value, partial[axis.path]))
                    for i, axis in enumerate(axes)
                    if axis.path in partial
                }
            )
    return SweepGrid(tuple(axes), tuple(without))


def _axis(path: str, values: Sequence[Json], where: Where, merged: MergedSpec, issues: list[Issue]) -> SweepAxis | None:
    """The axis with its values by the file or a pin, or None. What is wrong is added to ``issues``."""
    key: str | Where = (*where, path)
    places: list[str | Where] = [(*where, path, i) for i in range(len(values))]
    if (pin := merged.pins.get(path)) is not None:
        several = isinstance(pin.value, list)
        key = pin.place
        values = pin.value if several else [pin.value]
        places = [below(pin.place, (i,)) if several else pin.place for i in range(len(values))]
    if path != METHOD and (remedy := _remedy_of_path(path, (*SETTING, METHOD, EXCEPT))):
        issues.append(Issue("unknown-key", key, f"unknown key '{path}' in the sweep", remedy, named=()))
        return None
    if not values:
        what = f"the axis '{path}' is empty"
        issues.append(Issue("wrong-length", key, what, "give at least one value", named=()))
    placed = list(zip(values, places, strict=True))
    if path != METHOD:
        effects = tuple((Effect(path, value, place, key),) for value, place in placed)
        return SweepAxis(path, key, tuple(values), effects) if values else None

    # Of methods the axis has those names that stand for something, without the paths that cannot be set.
    effects_by_name: dict[Json, tuple[Effect, ...]] = {}
    for name, place in placed:
        try:
            stated = method_effects(name, merged.data)
        except Flawed as error:
            issues += [replace(flaw, place=place, named=flaw.path) for flaw in error.issues]
            continue
        effects_by_name[name] = tuple(effect for effect in stated if not _remedy_of_path(effect.path))
    return SweepAxis(METHOD, key, tuple(effects_by_name), tuple(effects_by_name.values()))


def _remedy_of_path(path: str, known: Sequence[str] = SETTING) -> str | None:
    """What to write instead of a path that sets nothing, or None where the path sets something."""
    words = path_words(path)
    return None if words[0] in SETTING and all(words) else nearest(words[0], known)


def _issues_of_exception(partial: Json, written: Mapping[str, Sequence[Json]], where: Where) -> list[Issue]:
    """What is wrong with an exception: it must name axes of its grid, and values that they have in the file."""
    if not isinstance(partial, dict) or not partial:
        return [Issue("wrong-type", where, "an exception is a partial point", "write {path: value}")]
    issues: list[Issue] = []
    for path, value in partial.items():
        place = (*where, path)
        if path not in written:
            what = f"unknown key '{path}'; not an axis of this grid"
            issues.append(Issue("unknown-key", place, what, nearest(path, written)))
        elif not any(_is_excepted(axis_value, value) for axis_value in written[path]):
            known = listed(map(canonical, written[path]), canonical(value))
            what = f"the axis has no value {canonical(value)}"
            issues.append(Issue("wrong-value", place, what, f"it has {known}"))
    return issues


def _is_excepted(value: Json, exception: Json) -> bool:
    """Whether this value of an axis is what an exception names (or one of a list that it names)."""
    values = exception if isinstance(exception, list) else [exception]
    # A value may be a list itself, of interventions: then the exception names it whole.
    return canonical(value) in {canonical(candidate) for candidate in [*values, exception]}
