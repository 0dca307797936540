"""grids -> points: the union of the grids, each the product of its axes without its exceptions.

A point has, for each top-level key, one part that many points share, in place of a whole setting. A hundred thousand
points therefore cost a hundred thousand small lookups.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from operator import itemgetter

from lnlab.compile.interned import SettingPart, part_of
from lnlab.compile.setting_paths import set_path
from lnlab.compile.sweep.grids import SweepGrid
from lnlab.compile.sweep.methods import below
from lnlab.issues import Issue
from lnlab.keys import Json
from lnlab.registry import Flawed
from lnlab.setting import path_words
from lnlab.specfile.columns import METHOD
from lnlab.specfile.experiment import SETTING


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """One point of one grid: a part for each top-level key, and which value of each axis made it."""

    parts: Mapping[str, SettingPart]
    grid: SweepGrid
    grid_number: int
    chosen: tuple[int, ...]

    @property
    def method(self) -> Json:
        """The name of its setting under ``methods``, or None."""
        pairs = zip(self.grid.axes, self.chosen, strict=True)
        return next((axis.values[number] for axis, number in pairs if axis.path == METHOD), None)

    def placed(self, flaw: Issue) -> Issue:
        """A flaw of the point's setting at what sets it: a value of an axis, a method, or the base."""
        path = flaw.path
        covering = [
            (words, effect)
            for axis, number in zip(self.grid.axes, self.chosen, strict=True)
            for effect in axis.effects[number]
            if path[: len(words := path_words(effect.path))] == words
        ]
        if not covering:
            return replace(flaw, named=path)
        words, effect = max(covering, key=lambda pair: len(pair[0]))
        place = effect.key if words == path and flaw.about_key else below(effect.place, path[len(words) :])
        return replace(flaw, place=place, named=path)


def expand_points(
    data: Mapping[str, Json], sweep_grids: Sequence[SweepGrid], issues: list[Issue]
) -> Iterator[SweepPoint]:
    """Every point of every grid, in the order of the file, the last axis fastest.

    An axis that leads into a number or a list is added to ``issues``, and has no effect.
    """
    base = {key: part_of(data[key]) for key in SETTING if key in data}
    for grid_number, grid in enumerate(sweep_grids):
        axes_of_key: dict[str, list[int]] = {}
        for number, axis in enumerate(grid.axes):
            for key in dict.fromkeys(path_words(effect.path)[0] for effects in axis.effects for effect in effects):
                axes_of_key.setdefault(key, []).append(number)
        tables = [_table(base, key, numbers, grid, issues) for key, numbers in axes_of_key.items()]
        for chosen in product(*(range(len(axis.values)) for axis in grid.axes)):
            if any(all(chosen[axis] in numbers for axis, numbers in exception.items()) for exception in grid.without):
                continue
            parts = dict(base)
            for pick, table in tables:
                parts |= table[pick(chosen)]
            yield SweepPoint(parts, grid, grid_number, chosen)


def _table(
    base: Mapping[str, SettingPart], key: str, numbers: list[int], grid: SweepGrid, issues: list[Issue]
) -> tuple["itemgetter[Json]", dict[Json, dict[str, SettingPart]]]:
    """The part of a setting under ``key``, for each combination of the values of the axes that change it.

    Returns a function that takes these axes' values out of a point, and a table from them to the part. A path that
    cannot be set is added to ``issues`` once.
    """
    axes = [grid.axes[number] for number in numbers]
    table: dict[Json, dict[str, SettingPart]] = {}
    issue_by_path: dict[str, Issue] = {}
    for combination in product(*(range(len(axis.values)) for axis in axes)):
        raw = base[key].raw if key in base else None
        pairs = zip(axes, combination, strict=True)
        effects = [
            effect for axis, number in pairs for effect in axis.effects[number] if path_words(effect.path)[0] == key
        ]
        for effect in sorted(effects, key=lambda effect: len(path_words(effect.path))):  # what is set whole comes first
            try:
                raw = set_path(raw, effect.path, effect.value)
            except Flawed as error:
                named = (effect.path, *error.issues[0].path)
                issue_by_path.setdefault(effect.path, replace(error.issues[0], place=effect.place, named=named))
        part = {key: part_of(raw)} if effects or key in base else {}
        # An itemgetter of one number gives that item itself, and no tuple.
        table[combination if len(combination) > 1 else combination[0]] = part
    issues += issue_by_path.values()
    return itemgetter(*numbers), table
