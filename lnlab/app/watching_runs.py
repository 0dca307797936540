"""Recorded runs while they go on: how far each is, its curves as sparklines, and where one of them jumps."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from math import isfinite
from pathlib import Path
from statistics import median
from typing import Any

import polars as pl

from lnlab.app.watching import sparkline
from lnlab.recorded.folder import RUN_FILE
from lnlab.recorded.runs import RecordedRun, read_run, run_label

SPIKE = {"loss": 1.5, "gradient norm": 5.0, "attention logit": 2.0}
"""By curve how many times the median of what came before is a jump."""
_BEFORE = 20
"""Records that this median is of."""


@dataclass(frozen=True)
class WatchedCurve:
    """One curve of a run.

    Attributes:
        name: of what.
        values: in the order of the steps.
        spike: the step of the last record, if it jumps; else None.
    """

    name: str
    values: tuple[float, ...]
    spike: int | None

    def __str__(self) -> str:
        """``loss 5.31 █▆▄▂``, and ``!`` where it jumps."""
        mark = "" if self.spike is None else f" ! jumps at step {self.spike}"
        return f"{self.name} {self.values[-1]:.4g} {sparkline(self.values)}{mark}"


@dataclass(frozen=True)
class WatchedRecording:
    """A recorded run, as far as it is.

    Attributes:
        folder: where it is.
        name: its settings and seed.
        status: how it ended, or ``running`` where it was not closed.
        done: updates made.
        steps: updates planned, or None.
        curves: the loss, the norm of the whole gradient, the largest attention logit, as far as recorded.
    """

    folder: str
    name: str
    status: str
    done: int
    steps: int | None
    curves: tuple[WatchedCurve, ...]

    def lines(self) -> Iterator[str]:
        """The run, then a line for each curve."""
        of = f" of {self.steps:,}" if self.steps else ""
        yield f"{self.folder}: {self.name}: {self.status}, step {self.done:,}{of}"
        yield from (f"  {curve}" for curve in self.curves)

    def to_json(self) -> dict[str, Any]:
        """As a JSON object."""
        return asdict(self)


def watched_recordings(folders: Sequence[Path]) -> list[WatchedRecording]:
    """The recorded runs in folders: each is one of a run, or holds such.

    Raises:
        LabError: a run cannot be read.
    """
    runs = [path for folder in folders for path in (folder, *sorted(folder.glob("*"))) if (path / RUN_FILE).is_file()]
    return [_watched(path, read_run(path)) for path in dict.fromkeys(runs)]


def _watched(path: Path, run: RecordedRun) -> WatchedRecording:
    curves = []
    stored = run.tables.get("curves")
    if stored is not None:
        losses = stored.filter(pl.col("quantity") == "loss").sort("step")
        split = "train" if "train" in losses["split"] else "validation"
        curves.append(("loss", losses.filter(pl.col("split") == split).select("step", "value")))
    sites = run.tables.get("sites")
    if sites is not None:
        norms = sites.filter(pl.col("quantity") == "step_gradient_norm").group_by("step")
        whole = norms.agg(pl.col("value").drop_nulls().pow(2).sum().sqrt()).sort("step")
        logits = sites.filter(pl.col("quantity") == "attention_logit_max").group_by("step")
        curves += [("gradient norm", whole), ("attention logit", logits.agg(pl.col("value").max()).sort("step"))]
    status = "running" if run.status == "interrupted" and run.reason == "was not closed" else run.status
    shown = tuple(_curve(name, rows) for name, rows in curves if not rows.is_empty())
    return WatchedRecording(path.as_posix(), run_label(run), status, done=run.done, steps=run.steps, curves=shown)


def _curve(name: str, rows: pl.DataFrame) -> WatchedCurve:
    values = rows["value"].to_list()
    before = [abs(value) for value in values[-_BEFORE - 1 : -1] if isfinite(value)]
    last = values[-1]
    jumps = len(before) > 1 and (not isfinite(last) or abs(last) > SPIKE[name] * median(before))
    return WatchedCurve(name, tuple(values), rows["step"][-1] if jumps else None)
