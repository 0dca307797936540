"""Mistakes in values that no run has, because every point of the sweep replaces them.

They change no number, and are mistakes all the same. They stand in the base, in a profile, or in a method that sets
more than the axis which replaces a part of it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from lnlab.compile.interned import interned_parts
from lnlab.compile.resolve.choices import Registries
from lnlab.compile.resolve.resolve import Resolver
from lnlab.compile.setting_paths import INTERVENTIONS, as_choices, is_written, set_path
from lnlab.compile.sweep.grids import SweepAxis, SweepGrid
from lnlab.compile.sweep.overlay import MergedSpec
from lnlab.issues import Issue, Where
from lnlab.keys import Json
from lnlab.registry import Flawed
from lnlab.setting import path_words
from lnlab.specfile.experiment import SETTING

Paths = set[tuple[str, ...]]


def replaced_value_issues(merged: MergedSpec, sweep_grids: Sequence[SweepGrid], registries: Registries) -> list[Issue]:
    """What is wrong with the values that an axis replaces at every point.

    A change of the value that an axis sets is not checked here. It is reported as one without effect, or is the axis's.
    """
    resolver = Resolver(registries)
    base = {key: merged.data[key] for key in SETTING if key in merged.data}
    replaced = [_set_by(grid.axes) for grid in sweep_grids]
    changed = {path_words(change.path) for change in merged.changes}
    issues: list[Issue] = []
    for flaw, path in _flaws(base, resolver):
        # A change at this path, above or below it, that an axis replaces is somebody else's to report.
        if all(
            _is_below(path, paths)
            and not any(_is_below(path, [c]) or _is_below(c, [path]) for c in _below_any(changed, paths))
            for paths in replaced
        ):
            issues.append(flaw.at(merged.location(flaw.path)))
    for grid in sweep_grids:
        for axis in grid.axes:
            others = _set_by(other for other in grid.axes if other is not axis)
            for effect in (effect for effects in axis.effects for effect in effects):
                words = path_words(effect.path)
                replaced_parts = _below_any(others, {words})
                if not replaced_parts:
                    continue
                try:
                    part = set_path(base.get(words[0]), effect.path, effect.value)
                except Flawed:  # reported of the points
                    continue
                issues += [
                    flaw.at(effect.location.below(flaw.path[len(words) :]))
                    for flaw, path in _flaws({**base, words[0]: part}, resolver)
                    if _is_below(path, replaced_parts)
                ]
    return issues


def _set_by(axes: Iterable[SweepAxis]) -> Paths:
    """The paths that these axes set, whichever of their values are taken."""
    by_axis = [[{path_words(effect.path) for effect in effects} for effects in axis.effects] for axis in axes]
    return {path for paths in by_axis if paths for path in set.intersection(*paths)}


def _below_any(paths: Iterable[tuple[str, ...]], others: Iterable[Where]) -> Paths:
    """Those of the paths that are one of the others, or lead into what stands there."""
    return {path for path in paths if _is_below(path, others)}


def _is_below(path: Where, others: Iterable[Where]) -> bool:
    return any(path[: len(other)] == other for other in others)


def _flaws(raw: Mapping[str, Json], resolver: Resolver) -> Iterator[tuple[Issue, Where]]:
    """What is wrong with the values that are written, each with its path as an axis names it.

    What is not written is left out, as an axis may set it.
    """
    _, flaws = resolver.setting(interned_parts(raw))
    for flaw in flaws:
        path: Where = flaw.path
        # An axis names an intervention by its kind, and the flaw by its place in the list.
        if path[0] == INTERVENTIONS and path[1:]:
            number, *tail = path[1:] if isinstance(raw[INTERVENTIONS], list) else (0, *path[1:])
            choice = as_choices(raw[INTERVENTIONS])[int(number)]
            path = (INTERVENTIONS, str(choice.get("kind") if isinstance(choice, dict) else choice), *tail)
        if is_written(raw, flaw.path):
            yield flaw, path
