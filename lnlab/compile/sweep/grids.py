"""sweep -> grids: the axes of each with their values, pins applied, and the partial points that are left out.

A value of an axis sets one path. A value of the axis ``method`` is a name, and sets all that the name stands for.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from lnlab.compile.source_spans import UNKNOWN
from lnlab.compile.sweep.methods import Effect, method_effects
from lnlab.compile.sweep.overlay import EXCEPT, MergedSpec
from lnlab.errors import listed, nearest
from lnlab.issues import Issue, SourceLocation, Where
from lnlab.keys import Json, canonical
from lnlab.registry import Flawed
from lnlab.setting import path_words
from lnlab.specfile.columns import METHOD
from lnlab.specfile.experiment import SETTING
from lnlab.specfile.read import Reading

MOST_POINTS = 1_000_000


@dataclass(frozen=True, slots=True)
class SweepAxis:
    """An axis of one grid: where it was written, its values, and what each of them sets."""

    path: str
    location: SourceLocation
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
    if sweep is None:
        return [SweepGrid(())], []
    issues: list[Issue] = []
    sweep_grids = [_grid(grid, reading.path(("sweep", number)), merged, issues) for number, grid in enumerate(sweep)]
    for number, grid in enumerate(sweep):
        if METHOD not in grid and any(METHOD in other for other in sweep):
            where = reading.path(("sweep", number))
            flaw = Issue(
                "missing",
                where,
                f"this grid has no {METHOD}, and another has one",
                f"add it: {{{METHOD}: [name, ...]}}",
            )
            issues.append(flaw.at(merged.location(where)))
    size = sum(prod(len(axis.values) for axis in grid.axes) for grid in sweep_grids)
    if size > MOST_POINTS:
        flaw = Issue("too-large", ("sweep",), f"{size:,} points; at most {MOST_POINTS:,}", "sweep fewer values")
        # One point stands for all, so that what is wrong with the base is told as well.
        return [SweepGrid(())], [*issues, flaw.at(merged.location(("sweep",)))]
    return sweep_grids, issues


def _grid(grid: Mapping[str, Sequence[Json]], where: Where, merged: MergedSpec, issues: list[Issue]) -> SweepGrid:
    """A grid of the axes that can be set. What is wrong with the others, or with exceptions, is added to ``issues``."""
    written = {path: values for path, values in grid.items() if path != EXCEPT}
    axes = [axis for path, values in written.items() if (axis := _axis(path, values, where, merged, issues))]
    swept = {axis.path: axis.location for axis in axes}
    for axis in axes:
        if axis.path == METHOD:
            issues += [
                Issue(
                    "duplicate", (), f"'{effect.path}' is swept, and the method '{name}' sets it", "keep one of them"
                ).at(swept[effect.path])
                for name, effects in zip(axis.values, axis.effects, strict=True)
                for effect in effects
                if effect.path in swept
            ]
    if not written:
        issues.append(
            Issue("missing", where, "a grid without axes", "write {path: [value, ...]}").at(merged.location(where))
        )
    without = []
    for number, partial in enumerate(grid.get(EXCEPT, ())):
        exception_issues = _issues_of_exception(partial, written, (*where, EXCEPT, number), merged)
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
    key = merged.location((*where, path))
    locations = [merged.location((*where, path, i)) for i in range(len(values))]
    if (pin := merged.pins.get(path)) is not None:
        several = isinstance(pin.value, list)
        key = pin.location
        values = pin.value if several else [pin.value]
        locations = [pin.location.below((i,)) if several else pin.location for i in range(len(values))]
    if path != METHOD and (remedy := _remedy_of_path(path, (*SETTING, METHOD, EXCEPT))):
        issues.append(Issue("unknown-key", (), f"unknown key '{path}' in the sweep", remedy).at(key))
        return None
    if not values:
        issues.append(Issue("wrong-length", (), f"the axis '{path}' is empty", "give at least one value").at(key))
    placed = list(zip(values, locations, strict=True))
    if path != METHOD:
        effects = tuple((Effect(path, value, location, key),) for value, location in placed)
        return SweepAxis(path, key, tuple(values), effects) if values else None

    # Of methods the axis has those names that stand for something, without the paths that cannot be set.
    effects_by_name: dict[Json, tuple[Effect, ...]] = {}
    for name, location in placed:
        try:
            stated = method_effects(name, merged.data, merged.location)
        except Flawed as error:
            issues += [flaw.at(location) for flaw in error.issues]
            continue
        for effect in stated:
            if remedy := _remedy_of_path(effect.path):
                what = f"unknown key '{effect.path}' in the method '{name}'"
                issues.append(Issue("unknown-key", (), what, remedy).at(effect.key))
        effects_by_name[name] = tuple(effect for effect in stated if not _remedy_of_path(effect.path))
    return SweepAxis(METHOD, key, tuple(effects_by_name), tuple(effects_by_name.values()))


def _remedy_of_path(path: str, known: Sequence[str] = SETTING) -> str | None:
    """What to write instead of a path that sets nothing, or None where the path sets something."""
    words = path_words(path)
    return None if words[0] in SETTING and all(words) else nearest(words[0], known)


def _issues_of_exception(
    partial: Json, written: Mapping[str, Sequence[Json]], where: Where, merged: MergedSpec
) -> list[Issue]:
    """What is wrong with an exception: it must name axes of its grid, and values that they have in the file."""
    if not isinstance(partial, dict) or not partial:
        return [
            Issue("wrong-type", where, "an exception is a partial point", "write {path: value}").at(
                merged.location(where)
            )
        ]
    issues: list[Issue] = []
    for path, value in partial.items():
        location = merged.location((*where, path))
        if path not in written:
            flaw = Issue(
                "unknown-key", (*where, path), f"{UNKNOWN} '{path}'; not an axis of this grid", nearest(path, written)
            )
            issues.append(flaw.at(location))
        elif not any(_is_excepted(axis_value, value) for axis_value in written[path]):
            known = listed(map(canonical, written[path]), canonical(value))
            issues.append(
                Issue("wrong-value", (*where, path), f"the axis has no value {canonical(value)}", f"it has {known}").at(
                    location
                )
            )
    return issues


def _is_excepted(value: Json, exception: Json) -> bool:
    """Whether this value of an axis is what an exception names (or one of a list that it names)."""
    values = exception if isinstance(exception, list) else [exception]
    # A value may be a list itself, of interventions: then the exception names it whole.
    return canonical(value) in {canonical(candidate) for candidate in [*values, exception]}
