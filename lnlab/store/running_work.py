"""What is being computed in a store now: trajectories whose lease somebody holds, as far as they are committed."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from lnlab.store.leases import lease_holder
from lnlab.store.process_identity import ProcessIdentity
from lnlab.store.records.coverage import COMPLETE_STATUSES, coverage_of
from lnlab.store.records.layout import LEASE_FILE, trajectory_folder
from lnlab.store.records.records import StoreReader
from lnlab.tables import frame


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
            found = reader.read_rows(trajectory)
            records = [record for record, _ in found]
            complete = [record for record in records if record.outcome["status"] in COMPLETE_STATUSES]
            steps = coverage_of(records).covered
            curves = pl.concat([frame("curves", []), *(tables["curves"] for _, tables in found if "curves" in tables)])
            losses = curves.filter(pl.col("split") == "train", pl.col("quantity") == "loss", pl.col("step") < steps)
            running.append(
                RunningWork(
                    trajectory=trajectory,
                    holder=holder,
                    steps=steps,
                    seconds=sum(float(record.outcome["seconds"]) for record in complete),
                    losses=tuple(losses.unique("step", keep="first", maintain_order=True).sort("step")["value"]),
                )
            )
    return running
