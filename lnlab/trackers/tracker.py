"""Where the curves of a recorded run go while it goes on: ``tensorboard``, ``mlflow``, ``wandb`` or ``trackio``.

Each takes a place of its own behind a colon.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

from lnlab.errors import LabError, nearest
from lnlab.issues import Issue
from lnlab.keys import Json, canonical

SettingValue = bool | int | float | str


class LiveRun(Protocol):
    """A run in progress in a tracker, to which points are added."""

    def log(self, step: int, values: Mapping[str, float]) -> None:
        """Add the values of a step.

        Raises:
            Exception: the place refuses, in words of its own.
        """

    def close(self, status: str) -> None:
        """End the run. ``status`` is ``finished``, ``diverged``, ``failed`` or ``interrupted``.

        Raises:
            Exception: the place refuses, in words of its own.
        """


@dataclass(frozen=True, kw_only=True)
class LiveHead:
    """What a tracker is told of a run in progress.

    Attributes:
        key: of this run and no other. A resumed run keeps it.
        name: in words.
        settings: dotted path -> value, the seed and every default included.
        group: of runs that belong together.
        folder: of the recorded run.
        step: updates made before.
    """

    key: str
    name: str
    settings: Mapping[str, SettingValue]
    group: str
    folder: Path
    step: int


@dataclass(frozen=True)
class _Kind:
    """A kind of tracker: the package it needs, its module, the class of a run there, and its default place."""

    package: str
    module: str
    live: str
    default: str = ""


_KINDS = {
    "tensorboard": _Kind("tensorboard", "lnlab.trackers.event_files", "LiveEvents"),
    "mlflow": _Kind("mlflow", "lnlab.trackers.mlflow_runs", "LiveMlflowRun"),
    "wandb": _Kind("wandb", "lnlab.trackers.wandb_runs", "LiveWandbRun", default="lnlab"),
    "trackio": _Kind("trackio", "lnlab.trackers.trackio_runs", "LiveTrackioRun", default="lnlab"),
}


@dataclass(frozen=True)
class Destination:
    """A kind of tracker and its place: a folder, a tracking URI, a project."""

    kind: str
    place: str

    def open_live(self, head: LiveHead) -> LiveRun:
        """Open a run in progress in the tracker.

        Raises:
            Exception: the place refuses, in words of its own.
        """
        # Late: only the tracker that is asked for need be installed.
        kind = _KINDS[self.kind]
        open_run: Callable[[str, LiveHead], LiveRun] = getattr(import_module(kind.module), kind.live)
        return open_run(self.place, head)

    def __str__(self) -> str:
        return f"{self.kind}:{self.place}" if self.place else self.kind


def parse_destinations(words: Sequence[str]) -> tuple[Destination, ...]:
    """Each of these ``KIND`` or ``KIND:PLACE`` once, before anything is recorded.

    Raises:
        LabError: one of them is unknown, or its package is not installed.
    """
    destinations: dict[Destination, None] = {}
    for word in words:
        kind, _, place = word.partition(":")
        if kind not in _KINDS:
            raise LabError(Issue("unknown-kind", "export", f"'{kind}' is no tracker", nearest(kind, _KINDS)))
        if find_spec(_KINDS[kind].package) is None:
            what = f"the package {_KINDS[kind].package} is not installed"
            remedy = f"install it with pip install 'lnlab[{kind}]'"
            raise LabError(Issue("not-installed", f"export {kind}", what, remedy))
        destinations[Destination(kind, place or _KINDS[kind].default)] = None
    return tuple(destinations)


def flat_settings(setting: Json, path: str = "") -> dict[str, SettingValue]:
    """The leaves of a setting by dotted path. Lists, empty choices and null are written as JSON."""
    if not isinstance(setting, dict) or not setting:
        return {path: setting if isinstance(setting, SettingValue) else canonical(setting)}
    return {
        leaf: value
        for key, inner in setting.items()
        for leaf, value in flat_settings(inner, f"{path}.{key}" if path else key).items()
    }
