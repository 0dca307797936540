"""Tuning groups: the settings of a sweep that differ in the chosen value alone; a group's setting at another value."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from lnlab.compile.interned import InternedSetting, interned_parts
from lnlab.compile.resolve.resolve import Resolver
from lnlab.compile.setting_paths import set_path
from lnlab.compile.work import ResolvedSetting
from lnlab.issues import Issue
from lnlab.keys import Json, canonical
from lnlab.setting import Setting as Reader
from lnlab.setting import path_words


@dataclass
class TuningGroup:
    """One combination of the other axes.

    Attributes:
        path: what is chosen.
        method: the name of its settings under ``methods``, or None.
        first: the number of its first setting in the sweep.
        setting: that setting.
        candidates: each value at ``path`` with the number of the setting that has it.
    """

    path: str
    method: Json
    first: int
    setting: InternedSetting
    candidates: list[tuple[Json, int]] = field(default_factory=list)

    def number(self, value: Json) -> int | None:
        """The number of its setting that has this value; None where the sweep has none."""
        return next((n for candidate, n in self.candidates if canonical(candidate) == canonical(value)), None)

    def at(self, value: Json, resolver: Resolver) -> tuple[InternedSetting | None, list[Issue]]:
        """The setting of this group with another value, or None and what is wrong with it."""
        setting: ResolvedSetting = self.setting
        for path in Reader(setting).long_forms(self.path):
            key = path_words(path)[0]
            setting = {**setting, key: set_path(setting[key], path, value)}
        return resolver.setting(interned_parts(setting))


def tuning_groups(settings: Sequence[InternedSetting], methods: Sequence[Json], path: str) -> list[TuningGroup]:
    """The groups of a sweep, in its order."""
    groups: dict[tuple[Json, ...], TuningGroup] = {}
    for number, (setting, method) in enumerate(zip(settings, methods, strict=True)):
        paths = {path_words(long)[0]: long for long in Reader(setting).long_forms(path)}
        without = {key: canonical(set_path(setting[key], long, None)) for key, long in paths.items() if key in setting}
        besides = (method, *{**setting.texts, **without}.values())
        group = groups.setdefault(besides, TuningGroup(path, method, number, setting))
        group.candidates.append((Reader(setting).at(path), number))
    return list(groups.values())
