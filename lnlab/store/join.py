"""From records and a plan to ``Results``: every byte that is read is verified first."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from lnlab.specfile.columns import EVALUATIONS, NEXT_UPDATE_CURVES, RECORDED
from lnlab.store.missing_work import TrajectoryRequest, missing_of_request
from lnlab.store.records.coverage import coverage_of
from lnlab.store.records.records import Record, StoreReader, TrajectoryContents
from lnlab.tables import WRITTEN_BY_WORKERS, Results, frame, table_schema

_OUTCOME_COLUMNS = ("status", "reason", "seconds", "parameters", "last_finite_loss", "device", "versions")
_SCORED_BY = {quantity: kind for kind, quantities in EVALUATIONS.items() for quantity in quantities}
_BY_MEASUREMENT = [table for table, columns in WRITTEN_BY_WORKERS.items() if "measurement" in columns]


@dataclass
class _TrajectoryRows:
    """The rows and outcomes of many trajectories.

    Attributes:
        outcomes: trajectory and number of updates -> a row of outcome columns.
        whole: table -> files whose every row counts.
        parts: table -> rows of files of which only some count.
    """

    outcomes: dict[tuple[str, int], dict[str, Any]] = field(default_factory=dict)
    whole: dict[str, list[bytes]] = field(default_factory=dict)
    parts: dict[str, list[pl.DataFrame]] = field(default_factory=dict)

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
    runs, needs = plan["runs"], plan["needs"]
    trajectory_rows = _read_trajectories(root, runs, needs)
    outcomes = pl.DataFrame(
        [trajectory_rows.outcomes[key] for key in runs.select("trajectory", "steps").iter_rows()],
        schema={name: table_schema("outcomes")[name] for name in _OUTCOME_COLUMNS}
        | {"done": table_schema("outcomes")["steps"]},
    )
    run_needs = needs.join(runs.select("run", "variant", "seed"), on="run", maintain_order="left")
    keys = run_needs.select("run", "variant", "seed", "step", "measurement")
    tables = {table: _rows_of_runs(keys, trajectory_rows.rows(table)) for table in _BY_MEASUREMENT}
    tables["curves"] = _curves(runs, needs, trajectory_rows.rows("curves"))
    outcomes = outcomes.with_columns(_last_finite(runs, tables["curves"], outcomes["last_finite_loss"]))
    tables["needs"] = run_needs.select("run", "variant", "seed", "step", "probe", "measurement")
    return Results(pl.concat([runs, outcomes], how="horizontal"), plan["axes"], tables)


def _rows_of_runs(keys: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """The rows of every run, in the order of the plan."""
    return keys.join(rows, on="measurement", how="inner", maintain_order="left_right")


def _curves(runs: pl.DataFrame, needs: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
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
    parts = [part.select(columns) for part in (trained, *_evaluated(runs, needs, unique_rows.filter(~recorded)))]
    order = pl.DataFrame({"run": runs["run"], "_order": range(runs.height)})
    ordered = pl.concat(parts).join(order, on="run", how="left").sort("_order", "step", maintain_order=True)
    return ordered.select(columns)


def _evaluated(runs: pl.DataFrame, needs: pl.DataFrame, rows: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """What was evaluated where a run needs it, on the trajectory that owns the evaluation: the first that needs it.

    How many epochs had passed is a row wherever anything was evaluated.
    """
    named = runs.select("run", "variant", "seed", "trajectory")
    evaluations = _evaluations(needs).join(named, on="run", maintain_order="left")
    owners = evaluations.unique("measurement", keep="first", maintain_order=True)
    owners = owners.select("measurement", owner="trajectory")
    owned = evaluations.join(owners, on="measurement", maintain_order="left").drop("measurement")
    owner_rows, epochs = rows.rename({"trajectory": "owner"}), pl.col("quantity") == "epoch"
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


def _by_steps(runs: pl.DataFrame, needs: pl.DataFrame) -> dict[str, dict[int, dict[str, int]]]:
    """Trajectory -> number of updates of a run -> its measurements, each with its step.

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
    return by_trajectory


def trajectory_requests(runs: pl.DataFrame, needs: pl.DataFrame) -> dict[str, TrajectoryRequest]:
    """Trajectory -> what all its runs request of it."""
    requests = {}
    for trajectory, by_steps in _by_steps(runs, needs).items():
        measurements = {key: step for keys in by_steps.values() for key, step in keys.items()}
        requests[trajectory] = TrajectoryRequest(max(by_steps), measurements)
    return requests


def _read_trajectories(root: Path, runs: pl.DataFrame, needs: pl.DataFrame) -> _TrajectoryRows:
    trajectory_rows = _TrajectoryRows()
    by_trajectory = _by_steps(runs, needs)
    for trajectory, contents in StoreReader(root).read_all(by_trajectory):
        by_steps = by_trajectory[trajectory]
        for steps, keys in by_steps.items():
            trajectory_rows.outcomes[trajectory, steps] = _outcome(contents, TrajectoryRequest(steps, keys))
        _sort_tables(contents, {key for keys in by_steps.values() for key in keys}, trajectory_rows)
    return trajectory_rows


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


def _outcome(contents: TrajectoryContents, request: TrajectoryRequest) -> dict[str, Any]:
    """The outcome columns of a run: of the record that settles it, of the last attempt, or null."""
    miss = missing_of_request(contents, request)
    if miss is None:
        record, coverage = _deciding_record(contents, request), coverage_of(contents.records)
        end = coverage.ended(request.steps)
        row = _columns(record) | {"seconds": _seconds(contents, request)}
        extent = {"done": end.steps} if end else {"done": request.steps, "status": "finished", "reason": None}
        return row | (extent if request.steps else {"done": 0})
    if miss.attempt is not None:
        reached = max(coverage_of(contents.records).covered, miss.attempt.steps)
        return _columns(miss.attempt) | {"done": min(reached, request.steps)}
    return dict.fromkeys((*_OUTCOME_COLUMNS, "done")) | {"reason": miss.reason if contents.damaged else None}


def _columns(record: Record) -> dict[str, Any]:
    return {name: record.outcome.get(name) for name in _OUTCOME_COLUMNS}


def _deciding_record(contents: TrajectoryContents, request: TrajectoryRequest) -> Record:
    """The record that a settled run shows.

    Of a run with updates that of its end, or the last that its updates needed; else the first that finished and holds
    something of it, or the first.
    """
    if request.steps:
        end = coverage_of(contents.records).ended(request.steps)
        return end or next(r for r in contents.records if r.first_step < request.steps <= r.steps)
    keys = set(request.measurements)
    holders = [record for record in contents.records if not keys or keys & set(record.measurements)]
    return next((record for record in holders if record.finished), holders[0])


def _seconds(contents: TrajectoryContents, request: TrajectoryRequest) -> float:
    """Wall-clock time of all stretches that a run's updates and measurements needed."""
    keys = set(request.measurements)
    records = [r for r in contents.records if r.first_step < request.steps or keys & set(r.measurements)]
    return float(sum(record.outcome["seconds"] or 0.0 for record in records or contents.records[:1]))
