"""Where training is between two commits: lines of a file in the folder of a stretch that has no record yet.

Rows count once they are committed. These lines are for people who look on, and are removed before the stretch gets its
record.
"""

import json
from contextlib import suppress
from pathlib import Path

from lnlab.errors import StoreError
from lnlab.store import files
from lnlab.store.records.layout import RECORD_FILE, stretches, trajectory_folder
from lnlab.tables import LivePoint

LIVE_FILE = "live.jsonl"
_LINE_BYTES = 256
"""More than a line has."""


def append_point(folder: Path, point: LivePoint) -> None:
    """Add a line to the file of a stretch. Errors are left to the commit of rows, which meets them again."""
    with suppress(StoreError):
        files.append(folder / LIVE_FILE, json.dumps(point).encode() + b"\n")


def remove_points(folder: Path) -> None:
    """Remove the file, before a record says that the stretch is whole."""
    with suppress(OSError):
        (folder / LIVE_FILE).unlink(missing_ok=True)


def live_folder(root: Path, trajectory: str) -> Path | None:
    """The stretch of a trajectory that is not committed yet, if there is one."""
    last = next(reversed(stretches(trajectory_folder(root, trajectory))), None)
    return None if last is None or (last / RECORD_FILE).exists() else last


def last_point(root: Path, trajectory: str) -> LivePoint | None:
    """The last point that the worker of a trajectory wrote since its last commit, or None."""
    folder = live_folder(root, trajectory)
    if folder is None:
        return None
    with suppress(OSError):
        points = _parsed(files.read_end(folder / LIVE_FILE, _LINE_BYTES))
        return points[-1] if points else None
    return None


def points_after(folder: Path, offset: int) -> tuple[list[LivePoint], int]:
    """The points of a stretch whose lines begin behind ``offset`` bytes, and where they end."""
    try:
        with (folder / LIVE_FILE).open("rb") as file:
            file.seek(offset)
            content = file.read()
    except OSError:
        return [], offset
    # The line that is being written belongs to the next look.
    whole = content[: content.rfind(b"\n") + 1]
    return _parsed(whole), offset + len(whole)


def _parsed(content: bytes) -> list[LivePoint]:
    points = []
    for line in content.split(b"\n"):
        with suppress(ValueError, TypeError):  # a line that is cut off at either end
            step, loss, norm, seconds = json.loads(line)
            points.append(LivePoint(int(step), float(loss), float(norm), float(seconds)))
    return points
