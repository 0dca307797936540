"""How far the runs of a plan are, looked at again and again: each look reads what is new since the last one."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import polars as pl

from lnlab.store.join import requests_of, trajectory_requests
from lnlab.store.leases import lease_holder
from lnlab.store.live import live_folder, points_after
from lnlab.store.missing_work import OUTCOME_COLUMNS, MissingWork, TrajectoryRequest, missing_of_request, outcome_of_run
from lnlab.store.process_identity import ProcessIdentity
from lnlab.store.records.checksummed import CorruptFile
from lnlab.store.records.coverage import COMPLETE_STATUSES, coverage_of
from lnlab.store.records.layout import LEASE_FILE, trajectory_folder
from lnlab.store.records.records import StoreReader, TrajectoryContents
from lnlab.store.stretch import PackReplaced, Stretch, scan_files
from lnlab.tables import LivePoint, Results, frame, table_schema

Curve = Sequence[tuple[int, float]]
"""Steps and values."""
_OF_TRAINING = {"loss": "loss", "gradient norm": "global_gradient_norm"}
"""By name the curves that training records at each update."""
_LOGIT = "attention logit"


@dataclass(frozen=True)
class RunningWork:
    """A trajectory that somebody works on.

    Attributes:
        trajectory: its key.
        holder: the process that works on it.
        steps: updates made, as far as the worker has said.
        seconds: wall-clock time that they took.
        curves: by name what was recorded up to there: ``loss`` and ``gradient norm``, which are of each update up to
            the last commit and about one a second since, and ``attention logit``, the largest of any head.
    """

    trajectory: str
    holder: ProcessIdentity
    steps: int
    seconds: float
    curves: Mapping[str, Curve]


@dataclass(frozen=True)
class PlanProgress:
    """How far the runs of a plan are.

    Attributes:
        results: runs with the columns of their outcomes, and axes, but no rows.
        lacking: trajectory -> what it lacks.
        running: trajectories that a process is at.
    """

    results: Results
    lacking: Mapping[str, MissingWork]
    running: Sequence[RunningWork]


class _RememberingReader(StoreReader):
    """Reads a stretch once, as a committed one never changes, and keeps its record alone."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self._records: dict[Path, Stretch] = {}

    def read_stretch(self, folder: Path) -> Stretch:
        """The stretch, without the bytes of its files."""
        if folder not in self._records:
            self._records[folder] = replace(super().read_stretch(folder), files={})
        return self._records[folder]


@dataclass
class _Live:
    """What has been read of the live file of a stretch."""

    folder: Path
    offset: int = 0
    points: list[LivePoint] = field(default_factory=list)


class PlanWatch:
    """Looks at the runs of one plan. What has all that it needs, and each committed stretch, is read once."""

    def __init__(self, root: Path, tables: Mapping[str, pl.DataFrame]) -> None:
        """``tables``: ``runs``, ``axes`` and ``needs`` of the plan."""
        self._root = root
        self._runs, self._axes = tables["runs"], tables["axes"]
        self._requests = trajectory_requests(tables["runs"], tables["needs"])
        self._by_steps = requests_of(tables["runs"], tables["needs"]).by_trajectory
        self._reader = _RememberingReader(root)
        self._settled: set[str] = set()
        self._outcomes: dict[tuple[str, int], dict[str, object]] = {}
        self._curves: dict[Path, dict[str, Curve]] = {}
        self._live: dict[str, _Live] = {}

    def look(self) -> PlanProgress:
        """How far the runs are now.

        Raises:
            StoreError: this user may not read the store.
        """
        lacking: dict[str, MissingWork] = {}
        running = []
        contents = dict(self._reader.read_all(key for key in self._requests if key not in self._settled))
        for key, request in self._requests.items():
            if key in self._settled:
                continue
            for steps, measurements in self._by_steps[key].items():
                outcome = outcome_of_run(contents[key], TrajectoryRequest(steps, measurements))
                self._outcomes[key, steps] = outcome
            miss = missing_of_request(contents[key], request)
            holder = lease_holder(trajectory_folder(self._root, key) / LEASE_FILE)
            if miss is None and holder is None:
                self._settled.add(key)
            elif miss is not None:
                lacking[key] = miss
                running += [self._work(key, holder, contents[key])] if holder else []
        schema = {name: table_schema("outcomes")[name] for name in OUTCOME_COLUMNS}
        rows = [self._outcomes[key] for key in self._runs.select("trajectory", "steps").iter_rows()]
        columns = pl.DataFrame(rows, schema=schema | {"done": table_schema("outcomes")["steps"]})
        results = Results(pl.concat([self._runs, columns], how="horizontal"), self._axes)
        return PlanProgress(results, lacking, running)

    def _work(self, key: str, holder: ProcessIdentity, contents: TrajectoryContents) -> RunningWork:
        records = contents.records
        covered = coverage_of(records).covered
        seconds = sum(float(r.outcome["seconds"]) for r in records if r.outcome["status"] in COMPLETE_STATUSES)
        curves: dict[str, dict[int, float]] = {}
        for stretch in contents.stretches:
            for name, points in self._curves_of(key, stretch).items():
                known = curves.setdefault(name, {})
                for step, value in points:
                    if step < covered or name == _LOGIT:
                        known.setdefault(step, value)  # of a step recorded twice the first counts
        live = self._live_points(key)
        seconds += live[-1].seconds if live else 0.0
        for point in live:
            if point.step >= covered:
                curves.setdefault("loss", {})[point.step] = point.loss
                curves.setdefault("gradient norm", {})[point.step] = point.gradient_norm
        steps = max(covered, live[-1].step if live else 0)
        ordered = {name: sorted(points.items()) for name, points in curves.items()}
        return RunningWork(trajectory=key, holder=holder, steps=steps, seconds=seconds, curves=ordered)

    def _live_points(self, key: str) -> Sequence[LivePoint]:
        folder = live_folder(self._root, key)
        if folder is None:
            return ()
        if key not in self._live or self._live[key].folder != folder:
            self._live[key] = _Live(folder)
        live = self._live[key]
        new, live.offset = points_after(folder, live.offset)
        live.points += new
        return live.points

    def _curves_of(self, key: str, stretch: Stretch) -> Mapping[str, Curve]:
        """The curves of a committed stretch. Empty while it is moved into a pack, where the next look finds it."""
        folder = stretch.record.folder
        if folder not in self._curves:
            with suppress(PackReplaced, FileNotFoundError, CorruptFile):
                self._curves[folder] = self._read_curves(key, stretch)
        return self._curves.get(folder, {})

    def _read_curves(self, key: str, stretch: Stretch) -> dict[str, Curve]:
        if stretch.pack is not None:
            tables = stretch.tables()
        else:
            record = stretch.record
            held = [name for name in ("curves", "sites") if f"{name}.parquet" in record.files]
            tables = {name: scan_files(name, [record.read(f"{name}.parquet")]).collect() for name in held}
        trained = tables.get("curves", frame("curves", [])).filter(pl.col("split") == "train")
        curves: dict[str, Curve] = {
            name: list(trained.filter(pl.col("quantity") == quantity).select("step", "value").iter_rows())
            for name, quantity in _OF_TRAINING.items()
        }
        steps = self._requests[key].measurements
        logits = tables.get("sites", frame("sites", [])).filter(pl.col("quantity") == "attention_logit_max")
        largest = logits.group_by("measurement").agg(pl.col("value").max())
        curves[_LOGIT] = [(steps[m], value) for m, value in largest.iter_rows() if m in steps]
        return curves
