"""TensorBoard: a folder a run, in it one event file whose name has the digest of what it holds.

A file appears whole and takes the place of an older one, so that a run which is shown anew is never shown twice.
"""

import io
import re
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.plugins.hparams.summary_v2 import hparams_pb
from tensorboard.plugins.scalar.summary_v2 import scalar_pb
from tensorboard.plugins.text.summary_v2 import text_pb
from tensorboard.summary.writer.record_writer import RecordWriter

from lnlab.app.trackers.tracked_run import TrackedRun, TrackedVerdicts
from lnlab.app.trackers.tracker import Tracker
from lnlab.files import replacing

_PREFIX = "events.out.tfevents.0.lnlab."
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
        name = re.sub(r"[^\w=.,+()\[\] -]", "_", run.name)[:_LONGEST_NAME].strip()  # that every file system takes
        self._write(f"{name} {run.key[:8]}", run.digest, events)

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
        older = list(folder.glob(f"{_PREFIX}*"))
        with replacing(path) as file:
            file.write(content.getvalue())
        for former in older:
            former.unlink(missing_ok=True)


def _event(summary: Summary, wall_time: float, step: int = 0) -> Event:
    return Event(wall_time=wall_time, step=step, summary=summary)
