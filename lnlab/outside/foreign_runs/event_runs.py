"""Runs in TensorBoard's event files, whose records are told apart here and parsed by the package ``tensorboard``.

A run that was resumed has several files. What an earlier one holds from the first step of a later one on belongs to
the part that was given up, and is left out.
"""

import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.keys import Json
from lnlab.outside.foreign_runs.source import Source, stored_run
from lnlab.user_tables import LARGEST_TABLE
from lnlab.userfiles import read_user_file

MARK = "tfevents"
"""In the name of every event file."""
_LENGTH, _CHECK = 8, 4
"""Bytes of the length of a record, and of a checksum."""


def event_folders(folder: Path) -> list[Path]:
    """The folders at or below a folder that hold event files. Each is one run."""
    return sorted({path.parent for path in folder.rglob(f"*{MARK}*") if path.is_file()})


def read_event_runs(folder: Path) -> list[Source]:
    """The runs at or below a folder: all their scalars, and hyperparameters where they were written.

    Raises:
        LabError: TensorBoard is not installed, or a file cannot be read or is damaged.
    """
    runs: dict[Path, tuple[dict[str, Json], list[tuple[str, int, float]], list[tuple[Path, bytes]]]] = {}
    for path in event_folders(folder):
        settings, points, files = _read(path)
        above = runs.get(path.parent)
        # `SummaryWriter.add_hparams` writes a run of its own below the one that it describes, with its last numbers.
        if above is not None and above[1] and settings and len({name for name, *_ in points}) == len(points):
            above[0].update(settings)
            known = {name for name, *_ in above[1]}
            above[1].extend(point for point in points if point[0] not in known)
            above[2].extend(files)
        else:
            runs[path] = settings, points, files
    return [
        stored_run(path.name if path == folder else path.relative_to(folder).as_posix(), points, settings, files)
        for path, (settings, points, files) in runs.items()
    ]


def _read(folder: Path) -> tuple[dict[str, Json], list[tuple[str, int, float]], list[tuple[Path, bytes]]]:
    """The hyperparameters of a run, its points and its files."""
    files = [(path, read_user_file(path, "event file", LARGEST_TABLE)) for path in sorted(folder.glob(f"*{MARK}*"))]
    settings: dict[str, Json] = {}
    kept: list[list[tuple[str, int, float]]] = []
    parts = [list(_events(path, content)) for path, content in files]
    for events in sorted((part for part in parts if part), key=lambda part: part[0].wall_time):
        added: list[tuple[str, int, float]] = []
        for event in events:
            if event.HasField("session_log") and event.session_log.status == event.session_log.START and event.step:
                kept = [[point for point in earlier if point[1] < event.step] for earlier in kept]
            for value in event.summary.value:
                settings |= _hyperparameters(value)
                number = _scalar(value)
                if number is not None:
                    added.append((value.tag, event.step, number))
        kept = [*(_not_given_up(earlier, added) for earlier in kept), added]
    return settings, [point for part in kept for point in part], files


def _not_given_up(
    earlier: list[tuple[str, int, float]], later: list[tuple[str, int, float]]
) -> list[tuple[str, int, float]]:
    """The points before the first that a later file has of a name of both. Two writers have none in common."""
    names = {name for name, *_ in earlier}
    first = min((step for name, step, _ in later if name in names), default=math.inf)
    return [point for point in earlier if point[1] < first]


def _events(path: Path, content: bytes) -> Iterator[Any]:
    """The events of a file. A record at its end that a kill has cut is none.

    Raises:
        LabError: a record is not what was written.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    try:
        from tensorboard.compat.proto.event_pb2 import Event  # late: of an extra
        from tensorboard.compat.tensorflow_stub.pywrap_tensorflow import masked_crc32c  # late: of an extra
    except ImportError as error:
        remedy = 'pip install "lnlab[tensorboard]"'
        raise LabError(
            Issue("not-installed", str(path), "is an event file, which TensorBoard reads", remedy)
        ) from error
    start, step = 0, None
    while start + _LENGTH + _CHECK <= len(content):
        header = content[start : start + _LENGTH]
        begin = start + _LENGTH + _CHECK
        end = begin + int.from_bytes(header, "little")
        checks = content[begin - _CHECK : begin], content[end : end + _CHECK]
        sound = int.from_bytes(checks[0], "little") == masked_crc32c(header)
        if sound and end + _CHECK > len(content):
            return
        if not sound or int.from_bytes(checks[1], "little") != masked_crc32c(content[begin:end]):
            after = "from its beginning" if step is None else f"after step {step}"
            what = f"is damaged {after} (byte {start:,} of {len(content):,})"
            raise LabError(Issue("damaged", str(path), what, "copy the file again, or leave the run out"))
        event = Event.FromString(content[begin:end])
        step = event.step if event.summary.value else step
        yield event
        start = end + _CHECK


def _scalar(value: Any) -> float | None:
    """The number of a value, if it is a scalar. Those of TensorFlow 2 are tensors."""
    if value.WhichOneof("value") == "simple_value":
        return float(value.simple_value)
    if value.WhichOneof("value") == "tensor" and not value.tensor.tensor_shape.dim and value.tensor.dtype in _NUMBERS:
        from tensorboard.util.tensor_util import make_ndarray  # late: of an extra

        return float(make_ndarray(value.tensor))
    return None


_NUMBERS = (1, 2, 3, 9, 14, 19)
"""``DataType`` of TensorFlow's protocol: float32, float64, int32, int64, bfloat16, float16."""


def _hyperparameters(value: Any) -> dict[str, Json]:
    from tensorboard.plugins.hparams import metadata  # late: of an extra

    if value.tag != metadata.SESSION_START_INFO_TAG:
        return {}
    settings: dict[str, Json] = {}
    stated = metadata.parse_session_start_info_plugin_data(value.metadata.plugin_data.content)
    for word, held in stated.hparams.items():
        kind = held.WhichOneof("kind")
        number = getattr(held, kind) if kind else None
        # The protocol knows no whole numbers, which float64 has exactly up to 2^53.
        whole = isinstance(number, float) and number.is_integer() and abs(number) < 2**53
        settings[word] = int(number) if whole else number  # type: ignore[arg-type]
    return settings
