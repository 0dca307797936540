"""TensorBoard: a folder a run, in it one event file whose name has the digest of what it holds.

A file appears whole and takes the place of an older one, so that a run which is shown anew is never shown twice.
"""

import io
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.plugins.hparams.summary_v2 import hparams_pb
from tensorboard.plugins.scalar.summary_v2 import scalar_pb
from tensorboard.plugins.text.summary_v2 import text_pb
from tensorboard.summary.writer.record_writer import RecordWriter

from lnlab.files import replacing
from lnlab.trackers.tracked_run import TrackedRun, TrackedVerdicts
from lnlab.trackers.tracker import LiveHead, Tracker

_PREFIX = "events.out.tfevents.0.lnlab."
_LIVE_PREFIX = "events.out.tfevents.lnlab."
_LONGEST_NAME = 120


def open_event_files(place: str, group: str) -> Tracker:
    """The folder of an experiment below the log folder ``place``."""
    return EventFiles(Path(place) / group)


@dataclass(frozen=True)
class EventFiles:
    """The event files of one experiment, below ``folder``."""

    folder: Path

    def show(self, run: TrackedRun) -> None:
        """Write a run: hyperparameters at its start, then every point of its curves."""
        started = time.time() - run.seconds
        events = [_event(hparams_pb(dict(run.settings), trial_id=run.key, start_time_secs=started), started)]
        events += [
            _event(scalar_pb(curve, value), started + run.seconds_at(step), step) for curve, step, value in run.curves
        ]
        self._write(f"{_file_name(run.name)} {run.key[:8]}", run.digest, events)

    def show_verdicts(self, verdicts: TrackedVerdicts) -> None:
        """Write the verdicts as texts, one a claim."""
        now = time.time()
        texts = (text_pb(f"verdicts/{claim}", sentence) for claim, sentence in verdicts.sentences.items())
        self._write("verdicts", verdicts.digest, [_event(text, now) for text in texts])

    def _write(self, name: str, digest: str, events: Iterable[Event]) -> None:
        folder = self.folder / name
        path = folder / f"{_PREFIX}{digest[:16]}"
        if path.exists():
            return
        folder.mkdir(parents=True, exist_ok=True)
        content = io.BytesIO()
        records = RecordWriter(content)
        for event in [Event(wall_time=time.time(), file_version="brain.Event:2"), *events]:
            records.write(event.SerializeToString())
        # Listed now, as the new file must not be among them.
        older = list(folder.glob(f"{_PREFIX}*"))
        with replacing(path) as file:
            file.write(content.getvalue())
        for former in older:
            former.unlink(missing_ok=True)


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
