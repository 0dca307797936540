"""Tuning groups: the settings of a sweep that differ in the chosen value alone; a group's setting at another value."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from lnlab.compile.resolve.resolve import Resolver
from lnlab.compile.setting_paths import set_path
from lnlab.compile.sweep.expand import SettingPart
from lnlab.compile.work import ResolvedSetting
from lnlab.keys import Json, canonical
from lnlab.registry import Flaw
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
    setting: ResolvedSetting
    candidates: list[tuple[Json, int]] = field(default_factory=list)

    def number(self, value: Json) -> int | None:
        """The number of its setting that has this value; None where the sweep has none."""
        return next((n for candidate, n in self.candidates if canonical(candidate) == canonical(value)), None)

    def at(self, value: Json, resolver: Resolver) -> tuple[ResolvedSetting | None, list[Flaw]]:
        """The setting of this group with another value, or None and what is wrong with it."""
        return resolver.setting({key: SettingPart(raw, canonical(raw)) for key, raw in self._put(value).items()})

    def _put(self, value: Json) -> ResolvedSetting:
        setting = self.setting
        for path in Reader(setting).long_forms(self.path):
            key = path_words(path)[0]
            setting = {**setting, key: set_path(setting[key], path, value)}
        return setting


def tuning_groups(settings: Sequence[ResolvedSetting], methods: Sequence[Json], path: str) -> list[TuningGroup]:
    """The groups of a sweep, in its order; equal parts of its settings are one object, as the resolver returns them."""
    groups: dict[tuple[Json, ...], TuningGroup] = {}
    for number, (setting, method) in enumerate(zip(settings, methods, strict=True)):
        group = groups.setdefault(_group_key(setting, method, path), TuningGroup(path, method, number, setting))
        group.candidates.append((Reader(setting).at(path), number))
    return list(groups.values())


def _group_key(setting: ResolvedSetting, method: Json, path: str) -> tuple[Json, ...]:
    """What identifies a setting besides its value at ``path``."""
    paths = {path_words(long)[0]: long for long in Reader(setting).long_forms(path)}
    parts = (canonical(set_path(part, paths[key], None)) if key in paths else id(part) for key, part in setting.items())
    return (method, *parts)
