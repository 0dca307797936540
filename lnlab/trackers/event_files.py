"""TensorBoard: the event file of a run in progress, in the folder of the run or below a log folder."""

import re
import time
from collections.abc import Mapping
from pathlib import Path

from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.plugins.hparams.summary_v2 import hparams_pb
from tensorboard.plugins.scalar.summary_v2 import scalar_pb
from tensorboard.plugins.text.summary_v2 import text_pb
from tensorboard.summary.writer.record_writer import RecordWriter

from lnlab.trackers.tracker import LiveHead

_LIVE_PREFIX = "events.out.tfevents.lnlab."
_LONGEST_NAME = 120


class LiveEvents:
    """The event file of a run in progress: in its own folder, or in one of its name below ``place``.

    A resumed run has another file, which replaces what was shown beyond its first step.
    """

    def __init__(self, place: str, head: LiveHead) -> None:
        folder = Path(place) / _file_name(head.name) if place else head.folder / "tensorboard"
        folder.mkdir(parents=True, exist_ok=True)
        now = time.time()
        # A run that is taken up within a second needs another name.
        number = len(list(folder.glob(f"{_LIVE_PREFIX}*")))
        self._file = (folder / f"{_LIVE_PREFIX}{int(now)}.{number}").open("ab")
        self._records = RecordWriter(self._file)
        first = head.step + 1 if head.step else 0  # TensorBoard forgets what it has from this step on
        start = Event(wall_time=now, step=first, session_log=SessionLog(status=SessionLog.START))
        settings = _event(hparams_pb(dict(head.settings), trial_id=head.key, start_time_secs=now), now, first)
        for event in (Event(wall_time=now, file_version="brain.Event:2"), start, settings):
            self._records.write(event.SerializeToString())

    def log(self, step: int, values: Mapping[str, float]) -> None:
        """Add the values of a step."""
        now = time.time()
        for name, value in values.items():
            self._records.write(_event(scalar_pb(name, value), now, step).SerializeToString())
        self._records.flush()

    def close(self, status: str) -> None:
        """Write how the run ended as a text, and close the file."""
        self._records.write(_event(text_pb("status", status), time.time()).SerializeToString())
        self._records.close()


def _event(summary: Summary, wall_time: float, step: int = 0) -> Event:
    return Event(wall_time=wall_time, step=step, summary=summary)


def _file_name(name: str) -> str:
    return re.sub(r"[^\w=.,+()\[\] -]", "_", name)[:_LONGEST_NAME].strip()  # that every file system takes
