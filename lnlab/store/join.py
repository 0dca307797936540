"""From records and a plan to ``Results``: every byte that is read is verified first."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from lnlab.specfile.columns import EVALUATIONS, NEXT_UPDATE_CURVES, RECORDED
from lnlab.store.missing_work import TrajectoryRequest
from lnlab.store.outcomes import OUTCOME_COLUMNS, outcome_of_run
from lnlab.store.records.records import StoreReader, TrajectoryContents
from lnlab.tables import WRITTEN_BY_WORKERS, Results, frame, table_schema

_SCORED_BY = {quantity: kind for kind, quantities in EVALUATIONS.items() for quantity in quantities}
_BY_MEASUREMENT = [table for table, columns in WRITTEN_BY_WORKERS.items() if "measurement" in columns]


SLICE_BYTES = 16 * 1024 * 1024
"""Bytes of compressed tables after which a slice of the results is full; its rows need some sixty times as much."""


@dataclass(frozen=True)
class _Requests:
    """What a plan asks of each trajectory, and whose rows each of its runs shows.

    Attributes:
        by_trajectory: trajectory -> number of updates of a run -> its measurements, each with its step.
        owners: ``measurement owner``: the trajectory that takes it for all that need it, the first of them.
    """

    by_trajectory: Mapping[str, Mapping[int, Mapping[str, int]]]
    owners: pl.DataFrame


@dataclass
class _TrajectoryRows:
    """The rows and outcomes of many trajectories.

    Attributes:
        outcomes: trajectory and number of updates -> a row of outcome columns.
        whole: table -> files whose every row counts.
        parts: table -> rows of files of which only some count.
        size: bytes of the files.
    """

    outcomes: dict[tuple[str, int], dict[str, Any]] = field(default_factory=dict)
    whole: dict[str, list[bytes]] = field(default_factory=dict)
    parts: dict[str, list[pl.DataFrame]] = field(default_factory=dict)
    size: int = 0

    def add(self, trajectory: str, contents: TrajectoryContents, requests: _Requests) -> None:
        """Take in what the store holds of a trajectory."""
        by_steps = requests.by_trajectory[trajectory]
        for steps, keys in by_steps.items():
            self.outcomes[trajectory, steps] = outcome_of_run(contents, TrajectoryRequest(steps, keys))
        _sort_tables(contents, {key for keys in by_steps.values() for key in keys}, self)
        self.size += sum(len(content) for tables in contents.tables for content in tables.values())

    def rows(self, table: str) -> pl.DataFrame:
        """Every row of ``table`` that counts."""
        whole = self.whole.get(table)
        read = [_read(table, whole)] if whole else []
        return pl.concat([*read, *self.parts.get(table, []), frame(table, [])])


def join_results(root: Path, plan: Mapping[str, pl.DataFrame]) -> Results:
    """The results of a plan, given its tables ``runs``, ``axes`` and ``needs``.

    Raises:
        StoreError: this user may not read the store.
    """
    requests = _requests_of(plan["runs"], plan["needs"])
    trajectory_rows = _TrajectoryRows()
    for trajectory, contents in StoreReader(root).read_all(requests.by_trajectory):
        trajectory_rows.add(trajectory, contents, requests)
    return _joined(plan, requests.owners, trajectory_rows)


def join_slices(root: Path, plan: Mapping[str, pl.DataFrame]) -> Iterator[Results]:
    """The same results some runs after the others, so that no more than a slice of them is in memory.

    Their rows are in the order of the whole, as the needs of a plan are in the order of its runs.

    Raises:
        StoreError: this user may not read the store.
    """
    runs = plan["runs"]
    needs = plan["needs"]
    requests = _requests_of(runs, needs)
    reader = StoreReader(root)
    needed = needs.join(requests.owners, on="measurement", how="left")
    owners = dict(needed.group_by("run").agg(pl.col("owner").unique()).iter_rows())
    trajectory_rows = _TrajectoryRows()
    first = 0
    read = set[str]()
    for number, (run, trajectory) in enumerate(runs.select("run", "trajectory").iter_rows(), 1):
        for key in sorted({trajectory, *owners.get(run, ())} - read):
            trajectory_rows.add(key, reader.read(key), requests)
            read.add(key)
        if trajectory_rows.size >= SLICE_BYTES or number == runs.height:
            part = runs[first:number]
            of_part = needs.join(part.select("run"), on="run", how="semi", maintain_order="left")
            axes = plan["axes"].clear()
            yield _joined({"runs": part, "axes": axes, "needs": of_part}, requests.owners, trajectory_rows)
            trajectory_rows = _TrajectoryRows()
            first = number
            read = set()


def _joined(plan: Mapping[str, pl.DataFrame], owners: pl.DataFrame, trajectory_rows: _TrajectoryRows) -> Results:
    """The results of runs whose trajectories were read."""
    runs = plan["runs"]
    needs = plan["needs"]
    outcomes = pl.DataFrame(
        [trajectory_rows.outcomes[key] for key in runs.select("trajectory", "steps").iter_rows()],
        schema={name: table_schema("outcomes")[name] for name in OUTCOME_COLUMNS}
        | {"done": table_schema("outcomes")["steps"]},
    )
    run_needs = needs.join(runs.select("run", "variant", "seed"), on="run", maintain_order="left")
    keys = run_needs.select("run", "variant", "seed", "step", "measurement")
    tables = {table: _rows_of_runs(keys, trajectory_rows.rows(table)) for table in _BY_MEASUREMENT}
    tables["curves"] = _curves(runs, needs, trajectory_rows.rows("curves"), owners)
    outcomes = outcomes.with_columns(_last_finite(runs, tables["curves"], outcomes["last_finite_loss"]))
    tables["needs"] = run_needs.select("run", "variant", "seed", "step", "probe", "measurement")
    return Results(pl.concat([runs, outcomes], how="horizontal"), plan["axes"], tables)


def _rows_of_runs(keys: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """The rows of every run, in the order of the plan."""
    return keys.join(rows, on="measurement", how="inner", maintain_order="left_right")


def _curves(runs: pl.DataFrame, needs: pl.DataFrame, rows: pl.DataFrame, owners: pl.DataFrame) -> pl.DataFrame:
    """The curves of every run, up to its own number of updates; a step recorded twice counts once, first by name.

    Training that went on, and what another spec evaluated on the same trajectory, changes none of its rows. What was
    evaluated once for several trajectories, their initial state, is a row of each of them.
    """
    unique_rows = rows.unique(["trajectory", "step", "split", "quantity"], keep="first", maintain_order=True)
    quantity = pl.col("quantity")
    recorded = (pl.col("split") == "train") & quantity.is_in(RECORDED) & (quantity != "epoch")
    ahead = quantity.is_in(NEXT_UPDATE_CURVES).cast(pl.Int64)
    named = runs.select("run", "variant", "seed", "trajectory", "steps")
    trained = named.join(unique_rows.filter(recorded), on="trajectory", maintain_order="left_right")
    trained = trained.filter(pl.col("step") + ahead <= pl.col("steps"))
    columns = ("run", "variant", "seed", "step", "trajectory", "split", "quantity", "value")
    parts = [
        part.select(columns) for part in (trained, *_evaluated(runs, needs, unique_rows.filter(~recorded), owners))
    ]
    order = pl.DataFrame({"run": runs["run"], "_order": range(runs.height)})
    ordered = pl.concat(parts).join(order, on="run", how="left").sort("_order", "step", maintain_order=True)
    return ordered.select(columns)


def _evaluated(
    runs: pl.DataFrame, needs: pl.DataFrame, rows: pl.DataFrame, owners: pl.DataFrame
) -> Iterator[pl.DataFrame]:
    """What was evaluated where a run needs it, on the trajectory that owns the evaluation: the first that needs it.

    How many epochs had passed is a row wherever anything was evaluated.
    """
    named = runs.select("run", "variant", "seed", "trajectory")
    evaluations = _evaluations(needs).join(named, on="run", maintain_order="left")
    owned = evaluations.join(owners, on="measurement", maintain_order="left").drop("measurement")
    owner_rows = rows.rename({"trajectory": "owner"})
    epochs = pl.col("quantity") == "epoch"
    scores = owner_rows.with_columns(
        kind=pl.col("quantity").replace_strict(_SCORED_BY, default=None, return_dtype=pl.String)
    )
    yield owned.join(scores, on=["owner", "step", "split", "kind"], maintain_order="left_right").drop("kind")
    evaluated_steps = owned.drop("split", "kind").unique(["run", "step"], keep="first", maintain_order=True)
    yield evaluated_steps.join(owner_rows.filter(epochs), on=["owner", "step"], maintain_order="left_right")


def _last_finite(runs: pl.DataFrame, curves: pl.DataFrame, recorded: pl.Series) -> pl.Series:
    """The last finite training loss of every run: its own, however long the stretch of work that recorded it."""
    losses = curves.filter(pl.col("split") == "train", pl.col("quantity") == "loss", pl.col("value").is_finite())
    last = losses.sort("step").group_by("run").agg(_last=pl.col("value").last())
    joined = runs.select("run").join(last, on="run", how="left", maintain_order="left")
    return pl.select(pl.coalesce(joined["_last"], recorded)).to_series().alias("last_finite_loss")


def _evaluations(needs: pl.DataFrame) -> pl.DataFrame:
    """``run step split kind measurement``: the evaluations of each run."""
    probes = {probe: json.loads(probe) for probe in needs["probe"].unique()}
    choices = {probe: choice for probe, choice in probes.items() if choice["kind"] in EVALUATIONS}
    rows = [(probe, choice["kind"], choice["split"]) for probe, choice in choices.items()]
    table = pl.DataFrame(rows, {"probe": pl.String, "kind": pl.String, "split": pl.String}, orient="row")
    joined = needs.join(table, on="probe", maintain_order="left_right")
    keys = ["run", "step", "split", "kind"]
    return joined.select(*keys, "measurement").unique(keys, maintain_order=True)


def _requests_of(runs: pl.DataFrame, needs: pl.DataFrame) -> _Requests:
    """What a plan asks of each trajectory.

    What several trajectories need (their initial state is one) is the request of the first of them, as in the plan.
    """
    of_run = {run: (key, steps) for run, key, steps in runs.select("run", "trajectory", "steps").iter_rows()}
    by_trajectory: dict[str, dict[int, dict[str, int]]] = {}
    for trajectory, steps in of_run.values():
        by_trajectory.setdefault(trajectory, {})[steps] = {}
    owner: dict[str, str] = {}
    for run, measurement, step in needs.select("run", "measurement", "step").iter_rows():
        trajectory, steps = of_run[run]
        if owner.setdefault(measurement, trajectory) == trajectory:
            by_trajectory[trajectory][steps][measurement] = step
    columns = {"measurement": list(owner.keys()), "owner": list(owner.values())}
    return _Requests(by_trajectory, pl.DataFrame(columns, schema={"measurement": pl.String, "owner": pl.String}))


def trajectory_requests(runs: pl.DataFrame, needs: pl.DataFrame) -> dict[str, TrajectoryRequest]:
    """Trajectory -> what all its runs request of it."""
    requests = {}
    for trajectory, by_steps in _requests_of(runs, needs).by_trajectory.items():
        measurements = {key: step for keys in by_steps.values() for key, step in keys.items()}
        requests[trajectory] = TrajectoryRequest(max(by_steps), measurements)
    return requests


def _sort_tables(contents: TrajectoryContents, keys: set[str], trajectory_rows: _TrajectoryRows) -> None:
    """Whole files where all they hold counts; else only the rows of measurements that this record holds first."""
    first = contents.first_holders()
    for position, (record, tables) in enumerate(zip(contents.records, contents.tables, strict=True)):
        own = {key for key in record.measurements if first[key] == position and key in keys}
        for name, content in tables.items():
            table = name.removesuffix(".parquet")
            if table not in WRITTEN_BY_WORKERS or table == "outcomes":
                continue
            if table == "curves" or len(own) == len(record.measurements):
                trajectory_rows.whole.setdefault(table, []).append(content)
            elif own:
                rows = _read(table, [content]).filter(pl.col("measurement").is_in(sorted(own)))
                trajectory_rows.parts.setdefault(table, []).append(rows)


def _read(table: str, contents: Iterable[bytes]) -> pl.DataFrame:
    """Files of one table; a column that an older lnlab did not write is null."""
    return pl.scan_parquet(
        list(contents), schema=table_schema(table), missing_columns="insert", extra_columns="ignore"
    ).collect()
