"""Where curves go: ``tensorboard``, ``mlflow``, ``wandb`` or ``trackio``, each with a place of its own behind a colon.

A tracker holds of each run what was shown, so that a run which it has already is not written twice, and one of which
more is known now replaces what it had.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

from lnlab.errors import LabError, nearest
from lnlab.issues import Issue
from lnlab.trackers.tracked_run import RunHead, TrackedRun, TrackedVerdicts


class Tracker(Protocol):
    """A place that shows the runs of one experiment."""

    def show(self, run: TrackedRun) -> None:
        """Write a run, unless it is there just so.

        Raises:
            Exception: the place refuses, in words of its own.
        """

    def show_verdicts(self, verdicts: TrackedVerdicts) -> None:
        """Write the verdicts of the experiment, unless they are there just so.

        Raises:
            Exception: the place refuses, in words of its own.
        """


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
class LiveHead(RunHead):
    """The head of a run in progress.

    Attributes:
        group: of runs that belong together.
        folder: of the recorded run.
        step: updates made before.
    """

    group: str
    folder: Path
    step: int


@dataclass(frozen=True)
class _Kind:
    """A kind of tracker: the package it needs, its module, what opens it there, and its default place.

    Attributes:
        opener: opens an experiment for runs that have ended. None means that it takes only runs in progress.
        live: the class of a run in progress.
    """

    package: str
    module: str
    opener: str | None
    live: str
    default: str


_REMEDY = "the results are in the store: run again to export them"
_KINDS = {
    "tensorboard": _Kind(
        "tensorboard", "lnlab.trackers.event_files", opener="open_event_files", live="LiveEvents", default="runs"
    ),
    "mlflow": _Kind("mlflow", "lnlab.trackers.mlflow_runs", opener="open_mlflow", live="LiveMlflowRun", default=""),
    "wandb": _Kind("wandb", "lnlab.trackers.wandb_runs", opener="open_wandb", live="LiveWandbRun", default="lnlab"),
    "trackio": _Kind("trackio", "lnlab.trackers.trackio_runs", opener=None, live="LiveTrackioRun", default="lnlab"),
}


@dataclass(frozen=True)
class Destination:
    """A kind of tracker and its place: a folder, a tracking URI, a project."""

    kind: str
    place: str

    def open(self, group: str) -> Tracker:
        """The tracker, for one experiment.

        Raises:
            LabError: it cannot be reached.
        """
        kind = _KINDS[self.kind]
        if kind.opener is None:
            what = f"{self.kind} takes runs that lnlab.Recorder records, and no others"
            remedy = nearest("", [name for name, other in _KINDS.items() if other.opener])
            raise LabError(Issue("unsupported", f"--export {self}", what, remedy))
        # Late: only the tracker that is asked for need be installed.
        open_tracker: Callable[[str, str], Tracker] = getattr(import_module(kind.module), kind.opener)
        try:
            return open_tracker(self.place, group)
        except LabError:
            raise
        except Exception as error:
            raise LabError(self.problem(error)) from error

    def open_live(self, head: LiveHead) -> LiveRun:
        """Open a run in progress in the tracker.

        Raises:
            Exception: the place refuses, in words of its own.
        """
        kind = _KINDS[self.kind]
        open_run: Callable[[str, LiveHead], LiveRun] = getattr(import_module(kind.module), kind.live)
        return open_run(self.place, head)

    def problem(self, error: Exception) -> Issue:
        """What a tracker says, as one line."""
        lines = str(error).strip().splitlines() or [type(error).__name__]
        return Issue("unreachable", f"--export {self}", lines[0].rstrip("."), _REMEDY)

    def __str__(self) -> str:
        return f"{self.kind}:{self.place}" if self.place else self.kind


def parse_destinations(
    words: Sequence[str], option: str = "--export", *, live: bool = False
) -> tuple[Destination, ...]:
    """Each destination once, before anything is computed.

    Args:
        words: ``KIND`` or ``KIND:PLACE``.
        option: what messages call it.
        live: of a run that goes on, whose event files lie in its own folder where no place is named.

    Raises:
        LabError: one of them is unknown, or its package is not installed.
    """
    destinations: dict[Destination, None] = {}
    for word in words:
        kind, _, place = word.partition(":")
        if kind not in _KINDS:
            raise LabError(Issue("unknown-kind", option, f"'{kind}' is no tracker", nearest(kind, _KINDS)))
        if find_spec(_KINDS[kind].package) is None:
            what = f"the package {_KINDS[kind].package} is not installed"
            remedy = f"install it with pip install 'lnlab[{kind}]'"
            raise LabError(Issue("not-installed", f"{option} {kind}", what, remedy))
        default = "" if live and kind == "tensorboard" else _KINDS[kind].default
        destinations[Destination(kind, place or default)] = None
    return tuple(destinations)
