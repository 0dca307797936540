"""What is being computed in a store now: trajectories whose lease somebody holds, as far as they are committed."""

from collections.abc import Iterable
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import polars as pl

from lnlab.store.leases import lease_holder
from lnlab.store.process_identity import ProcessIdentity
from lnlab.store.records.coverage import COMPLETE_STATUSES, coverage_of
from lnlab.store.records.layout import LEASE_FILE, trajectory_folder
from lnlab.store.records.records import StoreReader, TrajectoryContents

_CURVES_FILE = "curves.parquet"


@dataclass(frozen=True)
class RunningWork:
    """A trajectory that somebody works on.

    Attributes:
        trajectory: its key.
        holder: the process that works on it.
        steps: updates that are committed; what has been made since is not known.
        seconds: wall-clock time that they took.
        losses: training losses up to there, in the order of the steps.
    """

    trajectory: str
    holder: ProcessIdentity
    steps: int
    seconds: float
    losses: tuple[float, ...]


def running_work(root: Path, trajectories: Iterable[str]) -> list[RunningWork]:
    """Those of the trajectories that somebody works on now, in their order.

    Raises:
        StoreError: this user may not read the store.
    """
    reader = StoreReader(root)
    running = []
    for trajectory in trajectories:
        if holder := lease_holder(trajectory_folder(root, trajectory) / LEASE_FILE):
            contents = reader.read(trajectory)
            complete = [record for record in contents.records if record.outcome["status"] in COMPLETE_STATUSES]
            seconds = sum(float(record.outcome["seconds"]) for record in complete)
            steps = coverage_of(contents.records).covered
            running.append(
                RunningWork(
                    trajectory=trajectory, holder=holder, steps=steps, seconds=seconds, losses=_losses(contents, steps)
                )
            )
    return running


def _losses(contents: TrajectoryContents, steps: int) -> tuple[float, ...]:
    files = [tables[_CURVES_FILE] for tables in contents.tables if _CURVES_FILE in tables]
    if not files:
        return ()
    rows = pl.concat(pl.read_parquet(BytesIO(content)) for content in files)
    losses = rows.filter(pl.col("split") == "train", pl.col("quantity") == "loss", pl.col("step") < steps)
    return tuple(losses.unique("step", keep="first", maintain_order=True).sort("step")["value"])
