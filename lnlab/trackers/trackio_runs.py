"""Trackio: a run that goes on, in a project on this machine, or in a Space as its own variables say."""

from collections.abc import Mapping

import trackio

from lnlab.trackers.tracker import LiveHead

_KEY_DIGITS = 8


class LiveTrackioRun:
    """A run of the project ``place``, named with the first digits of its key; taken up again, it is the same run."""

    def __init__(self, place: str, head: LiveHead) -> None:
        name = f"{head.name} {head.key[:_KEY_DIGITS]}"
        self._run = trackio.init(project=place, name=name, config=dict(head.settings), resume="allow")

    def log(self, step: int, values: Mapping[str, float]) -> None:
        """Add the values of a step."""
        self._run.log(dict(values), step=step)

    def close(self, status: str) -> None:
        """End the run; Trackio keeps no word on how."""
        del status
        self._run.finish()
