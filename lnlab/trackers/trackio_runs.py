"""Trackio: a run in progress, in a project on this machine, or in a Space if Trackio's variables say so."""

from collections.abc import Mapping

import trackio

from lnlab.trackers.tracker import LiveHead

_KEY_DIGITS = 8


class LiveTrackioRun:
    """A run in progress in the project ``place``. The first digits of its key in its name let a resume find it."""

    def __init__(self, place: str, head: LiveHead) -> None:
        name = f"{head.name} {head.key[:_KEY_DIGITS]}"
        self._run = trackio.init(project=place, name=name, config=dict(head.settings), resume="allow")

    def log(self, step: int, values: Mapping[str, float]) -> None:
        """Add the values of a step."""
        self._run.log(dict(values), step=step)

    def close(self, status: str) -> None:
        """End the run. Trackio has no field for the status."""
        del status
        self._run.finish()
