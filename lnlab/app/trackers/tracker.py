"""Where curves go: ``tensorboard``, ``mlflow`` or ``wandb``, each with a place of its own behind a colon.

A tracker holds of each run what was shown, so that a run which it has already is not written twice, and one of which
more is known now replaces what it had.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Protocol

from lnlab.app.trackers.tracked_run import TrackedRun, TrackedVerdicts
from lnlab.errors import LabError, nearest
from lnlab.issues import Issue


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


@dataclass(frozen=True)
class _Kind:
    """A kind of tracker: the package it needs, what opens it in which module, and its place where none is named."""

    package: str
    module: str
    opener: str
    default: str


_REMEDY = "the results are in the store: run again to export them"
_KINDS = {
    "tensorboard": _Kind("tensorboard", "lnlab.app.trackers.event_files", "open_event_files", "runs"),
    "mlflow": _Kind("mlflow", "lnlab.app.trackers.mlflow_runs", "open_mlflow", ""),
    "wandb": _Kind("wandb", "lnlab.app.trackers.wandb_runs", "open_wandb", "lnlab"),
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
        open_tracker: Callable[[str, str], Tracker] = getattr(import_module(kind.module), kind.opener)
        try:
            return open_tracker(self.place, group)
        except LabError:
            raise
        except Exception as error:
            raise LabError(self.problem(error)) from error

    def problem(self, error: Exception) -> Issue:
        """What a tracker says, as one line."""
        lines = str(error).strip().splitlines() or [type(error).__name__]
        return Issue("unreachable", f"--export {self}", lines[0].rstrip("."), _REMEDY)

    def __str__(self) -> str:
        return f"{self.kind}:{self.place}" if self.place else self.kind


def parse_destinations(words: Sequence[str]) -> tuple[Destination, ...]:
    """Each destination once, before anything is computed.

    Raises:
        LabError: one of them is unknown, or its package is not installed.
    """
    destinations = []
    for word in words:
        kind, _, place = word.partition(":")
        if kind not in _KINDS:
            raise LabError(Issue("unknown-kind", "--export", f"'{kind}' is no tracker", nearest(kind, _KINDS)))
        if find_spec(_KINDS[kind].package) is None:
            what = f"the package {_KINDS[kind].package} is not installed"
            remedy = f"install it with pip install 'lnlab[{kind}]'"
            raise LabError(Issue("not-installed", f"--export {kind}", what, remedy))
        destinations.append(Destination(kind, place or _KINDS[kind].default))
    return tuple(dict.fromkeys(destinations))
