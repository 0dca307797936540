"""What a tracker is shown of a run: its settings, its curves and how it ended."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from lnlab.keys import Json, canonical, digest

SettingValue = bool | int | float | str


@dataclass(frozen=True, kw_only=True)
class RunHead:
    """What a tracker calls a run.

    Attributes:
        key: of this run and no other. A resumed run keeps it.
        name: in words.
        settings: dotted path -> value, the seed and every default included.
    """

    key: str
    name: str
    settings: Mapping[str, SettingValue]


@dataclass(frozen=True, kw_only=True)
class TrackedRun(RunHead):
    """A run that came to an end. Its name has its axes and seed.

    Attributes:
        status: finished, diverged, failed, ...
        seconds: that it took.
        steps: updates made.
        curves: (``split/quantity``, step, value), in the order of their steps.
    """

    status: str
    seconds: float
    steps: int
    curves: Sequence[tuple[str, int, float]]

    @cached_property
    def digest(self) -> str:
        """Of all that is shown, the time it took apart: equal digests, nothing to show anew."""
        # As text: canonical JSON has no NaN.
        curves = [(name, step, repr(value)) for name, step, value in self.curves]
        return digest([self.key, self.name, self.status, dict(self.settings), curves])

    def seconds_at(self, step: int) -> float:
        """Seconds from the start of the run to a step, at an even pace."""
        return self.seconds * step / self.steps if self.steps else 0.0


@dataclass(frozen=True)
class TrackedVerdicts:
    """The verdicts of an experiment: claim -> verdict, and claim -> sentence with the reason."""

    by_claim: Mapping[str, str]
    sentences: Mapping[str, str]

    @cached_property
    def digest(self) -> str:
        """Of all that is shown."""
        return digest([dict(self.by_claim), dict(self.sentences)])


def flat_settings(setting: Json, path: str = "") -> dict[str, SettingValue]:
    """The leaves of a setting by dotted path. Lists, empty choices and null are written as JSON."""
    if not isinstance(setting, dict) or not setting:
        return {path: setting if isinstance(setting, SettingValue) else canonical(setting)}
    return {
        leaf: value
        for key, inner in setting.items()
        for leaf, value in flat_settings(inner, f"{path}.{key}" if path else key).items()
    }
