"""Values with their canonical text. What is computed of a value is cached by this text, whatever object holds it."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from lnlab.compile.work import ResolvedSetting
from lnlab.keys import Json, canonical


@dataclass(frozen=True, slots=True)
class SettingPart:
    """The value of one top-level key of a setting, written or resolved, with its canonical text."""

    raw: Json
    text: str


class InternedSetting(ResolvedSetting):
    """A resolved setting with the canonical text of each value. Two with equal texts are one setting.

    Its values are shared with other settings and never changed. It is pickled as the plain setting.
    """

    __slots__ = ("texts",)

    def __init__(self, values: Mapping[str, Json], texts: Mapping[str, str]) -> None:
        super().__init__(values)
        self.texts = texts

    def __reduce__(self) -> tuple[type[ResolvedSetting], tuple[ResolvedSetting]]:
        return dict, (dict(self),)

    @property
    def identity(self) -> tuple[str, ...]:
        """The identity by which settings are equal."""
        return tuple(self.texts.values())

    def with_part(self, key: str, part: SettingPart) -> "InternedSetting":
        """The setting with another value of one of its keys."""
        return InternedSetting({**self, key: part.raw}, {**self.texts, key: part.text})


@dataclass(frozen=True, slots=True)
class Variant:
    """A setting that is run.

    Attributes:
        setting: resolved.
        method: its name under ``methods``, or None.
        grids: the numbers of the grids that have it.
        times: the multiple of what was chosen that it has. None where the spec chooses nothing.
    """

    setting: InternedSetting
    method: Json = None
    grids: Collection[int] = ()
    times: float | None = None


def part_of(raw: Json) -> SettingPart:
    """A value with its text."""
    return SettingPart(raw, canonical(raw))


def interned_parts(raw: Mapping[str, Json]) -> dict[str, SettingPart]:
    """The parts of a setting, written or resolved, each with its text."""
    return {key: part_of(value) for key, value in raw.items()}


def interned(setting: Mapping[str, Json]) -> InternedSetting:
    """The setting with its texts. One that comes from a store is plain, and gets them here."""
    if isinstance(setting, InternedSetting):
        return setting
    return InternedSetting(setting, {key: canonical(value) for key, value in setting.items()})


def unevaluated(setting: InternedSetting) -> InternedSetting:
    """A setting without when it is evaluated, which is no part of its runs: it tells none of them from others."""
    training = {word: value for word, value in setting["train"].items() if word != "evaluate"}
    return setting.with_part("train", part_of(training))
