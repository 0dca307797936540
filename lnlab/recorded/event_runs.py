"""Runs in TensorBoard's event files, read by the package ``tensorboard``."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl

from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.keys import Json
from lnlab.recorded.tracked import TrackedFolder
from lnlab.user_tables import LARGEST_TABLE
from lnlab.userfiles import read_user_file

MARK = "tfevents"
"""In the name of every event file."""


def event_folders(folder: Path) -> list[Path]:
    """The folders at or below a folder that hold event files. Each is one run."""
    return sorted({path.parent for path in folder.rglob(f"*{MARK}*") if path.is_file()})


def read_event_run(folder: Path, name: str) -> TrackedFolder:
    """All scalars of a folder, and its hyperparameters where they were written.

    Raises:
        LabError: TensorBoard is not installed, or a file cannot be read.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    try:
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator  # late: of an extra
        from tensorboard.plugins.hparams import metadata  # late: of an extra
        from tensorboard.util import tensor_util  # late: of an extra
    except ImportError as error:
        remedy = 'pip install "lnlab[tensorboard]"'
        raise LabError(
            Issue("not-installed", str(folder), "holds event files, which TensorBoard reads", remedy)
        ) from error
    files = [(path, read_user_file(path, "event file", LARGEST_TABLE)) for path in sorted(folder.glob(f"*{MARK}*"))]
    # Without these sizes it keeps a sample of 10,000 scalars and ten tensors.
    events: Any = EventAccumulator(str(folder), size_guidance={"scalars": 0, "tensors": 0})
    try:
        events.Reload()
    except Exception as error:  # whatever a torn or foreign file makes of the parser
        reason = " ".join(str(error).split())[:120] or type(error).__name__
        raise LabError(
            Issue("unreadable", str(folder), f"has an event file that cannot be read: {reason}", "leave it out")
        ) from error
    tags = events.Tags()
    points = [(tag, e.step, float(e.value)) for tag in tags["scalars"] for e in events.Scalars(tag)]
    for tag in tags["tensors"]:  # scalars of TensorFlow 2
        if events.SummaryMetadata(tag).plugin_data.plugin_name == "scalars":
            points += [(tag, e.step, float(tensor_util.make_ndarray(e.tensor_proto))) for e in events.Tensors(tag)]
    settings: dict[str, Json] = {}
    with suppress(KeyError):
        content = events.PluginTagToContent(metadata.PLUGIN_NAME)[metadata.SESSION_START_INFO_TAG]
        for word, value in metadata.parse_session_start_info_plugin_data(content).hparams.items():
            kind = value.WhichOneof("kind")
            number = getattr(value, kind) if kind else None
            # The protocol knows no whole numbers, which float64 has exactly up to 2^53.
            whole = isinstance(number, float) and number.is_integer() and abs(number) < 2**53
            settings[word] = int(number) if whole else number  # type: ignore[arg-type]
    frame = pl.DataFrame(points, schema={"name": pl.String, "step": pl.Int64, "value": pl.Float64}, orient="row")
    return TrackedFolder(name, settings, frame, files)
