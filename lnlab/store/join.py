"""From records and a plan to ``Results``: every byte that is read is verified first."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from lnlab.specfile.columns import EVALUATIONS, RECORDED
from lnlab.store.missing_work import Wanted, miss_of
from lnlab.store.records.coverage import course
from lnlab.store.records.records import Found, Reader, Record
from lnlab.tables import WRITTEN_BY_WORKERS, Results, frame, schema

_OF_THE_OUTCOME = ("status", "reason", "seconds", "parameters", "last_finite_loss", "device", "versions")
_OF_THE_NEXT_UPDATE = ("loss", "global_gradient_norm")
"""Curves of the training batches: at a state they belong to the update that follows it."""
_SCORED_BY = {quantity: kind for kind, quantities in EVALUATIONS.items() for quantity in quantities}
_BY_MEASUREMENT = [table for table, columns in WRITTEN_BY_WORKERS.items() if "measurement" in columns]


@dataclass
class _Gathered:
    """What was read of many trajectories.

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


def join(root: Path, plan: Mapping[str, pl.DataFrame]) -> Results:
    """The results of a plan, given its tables ``runs``, ``axes`` and ``needs``.

    Raises:
        StoreError: this user may not read the store.
    """
    runs, needs = plan["runs"], plan["needs"]
    gathered = _gather(root, runs, needs)
    outcomes = pl.DataFrame(
        [gathered.outcomes[key] for key in runs.select("trajectory", "steps").iter_rows()],
        schema={name: schema("outcomes")[name] for name in _OF_THE_OUTCOME} | {"done": schema("outcomes")["steps"]},
    )
    places = needs.join(runs.select("run", "variant", "seed"), on="run", maintain_order="left")
    where = places.select("run", "variant", "seed", "step", "measurement")
    tables = {table: _along(where, gathered.rows(table)) for table in _BY_MEASUREMENT}
    tables["curves"] = _curves(runs, needs, gathered.rows("curves"))
    outcomes = outcomes.with_columns(_last_finite(runs, tables["curves"], outcomes["last_finite_loss"]))
    tables["needs"] = places.select("run", "variant", "seed", "step", "probe", "measurement")
    return Results(pl.concat([runs, outcomes], how="horizontal"), plan["axes"], tables)


def _along(where: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """The rows of every run, in the order of the plan."""
    return where.join(rows, on="measurement", how="inner", maintain_order="left_right")


def _curves(runs: pl.DataFrame, needs: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """The curves of every run, up to its own number of updates; a step recorded twice counts once, first by name.

    Training that went on, and what another spec evaluated on the same trajectory, changes none of its rows. What was
    evaluated once for several trajectories, their initial state, is a row of each of them.
    """
    once = rows.unique(["trajectory", "step", "split", "quantity"], keep="first", maintain_order=True)
    quantity = pl.col("quantity")
    recorded = (pl.col("split") == "train") & quantity.is_in(RECORDED) & (quantity != "epoch")
    ahead = quantity.is_in(_OF_THE_NEXT_UPDATE).cast(pl.Int64)
    named = runs.select("run", "variant", "seed", "trajectory", "steps")
    trained = named.join(once.filter(recorded), on="trajectory", maintain_order="left_right")
    trained = trained.filter(pl.col("step") + ahead <= pl.col("steps"))
    columns = ("run", "variant", "seed", "step", "trajectory", "split", "quantity", "value")
    both = [part.select(columns) for part in (trained, *_evaluated(runs, needs, once.filter(~recorded)))]
    order = pl.DataFrame({"run": runs["run"], "_order": range(runs.height)})
    return pl.concat(both).join(order, on="run", how="left").sort("_order", "step", maintain_order=True).select(columns)


def _evaluated(runs: pl.DataFrame, needs: pl.DataFrame, rows: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """What was evaluated where a run needs it, on the trajectory that it was asked of: the first that needs it.

    How many epochs had passed is said wherever anything was.
    """
    looks = _looks(needs).join(runs.select("run", "variant", "seed", "trajectory"), on="run", maintain_order="left")
    owners = looks.unique("measurement", keep="first", maintain_order=True).select("measurement", owner="trajectory")
    asked = looks.join(owners, on="measurement", maintain_order="left").drop("measurement")
    found, epochs = rows.rename({"trajectory": "owner"}), pl.col("quantity") == "epoch"
    scores = found.with_columns(
        kind=pl.col("quantity").replace_strict(_SCORED_BY, default=None, return_dtype=pl.String)
    )
    yield asked.join(scores, on=["owner", "step", "split", "kind"], maintain_order="left_right").drop("kind")
    places = asked.drop("split", "kind").unique(["run", "step"], keep="first", maintain_order=True)
    yield places.join(found.filter(epochs), on=["owner", "step"], maintain_order="left_right")


def _last_finite(runs: pl.DataFrame, curves: pl.DataFrame, told: pl.Series) -> pl.Series:
    """The last finite training loss of every run: its own, however long the stretch of work that found it."""
    losses = curves.filter(pl.col("split") == "train", pl.col("quantity") == "loss", pl.col("value").is_finite())
    last = losses.sort("step").group_by("run").agg(_last=pl.col("value").last())
    joined = runs.select("run").join(last, on="run", how="left", maintain_order="left")
    return pl.select(pl.coalesce(joined["_last"], told)).to_series().alias("last_finite_loss")


def _looks(needs: pl.DataFrame) -> pl.DataFrame:
    """``run step split kind measurement``: what the evaluations of each run look at."""
    probes = {probe: json.loads(probe) for probe in needs["probe"].unique()}
    looks = [(probe, told["kind"], told["split"]) for probe, told in probes.items() if told["kind"] in EVALUATIONS]
    table = pl.DataFrame(looks, {"probe": pl.String, "kind": pl.String, "split": pl.String}, orient="row")
    found = needs.join(table, on="probe", maintain_order="left_right")
    return found.select("run", "step", "split", "kind", "measurement").unique(
        ["run", "step", "split", "kind"], maintain_order=True
    )


def _by_steps(runs: pl.DataFrame, needs: pl.DataFrame) -> dict[str, dict[int, dict[str, int]]]:
    """Trajectory -> number of updates of a run -> its measurements, each with its step.

    What several trajectories need (their initial state is one) is asked of the first of them, as in the plan.
    """
    of_run = {run: (key, steps) for run, key, steps in runs.select("run", "trajectory", "steps").iter_rows()}
    found: dict[str, dict[int, dict[str, int]]] = {}
    for trajectory, steps in of_run.values():
        found.setdefault(trajectory, {})[steps] = {}
    owner: dict[str, str] = {}
    for run, measurement, step in needs.select("run", "measurement", "step").iter_rows():
        trajectory, steps = of_run[run]
        if owner.setdefault(measurement, trajectory) == trajectory:
            found[trajectory][steps][measurement] = step
    return found


def wanted(runs: pl.DataFrame, needs: pl.DataFrame) -> dict[str, Wanted]:
    """Trajectory -> what its runs ask of it together."""
    found = _by_steps(runs, needs).items()
    return {key: Wanted(max(by), {k: s for each in by.values() for k, s in each.items()}) for key, by in found}


def _gather(root: Path, runs: pl.DataFrame, needs: pl.DataFrame) -> _Gathered:
    gathered = _Gathered()
    by_trajectory = _by_steps(runs, needs)
    for trajectory, found in Reader(root).each(by_trajectory):
        by_steps = by_trajectory[trajectory]
        for steps, keys in by_steps.items():
            gathered.outcomes[trajectory, steps] = _outcome(found, Wanted(steps, keys))
        _sort(found, {key for keys in by_steps.values() for key in keys}, gathered)
    return gathered


def _sort(found: Found, asked: set[str], gathered: _Gathered) -> None:
    """Whole files where all they hold counts; else only the rows of measurements that this record holds first."""
    first = found.first()
    for number, (record, tables) in enumerate(zip(found.records, found.tables, strict=True)):
        mine = {key for key in record.measurements if first[key] == number and key in asked}
        for name, content in tables.items():
            table = name.removesuffix(".parquet")
            if table not in WRITTEN_BY_WORKERS or table == "outcomes":
                continue
            if table == "curves" or len(mine) == len(record.measurements):
                gathered.whole.setdefault(table, []).append(content)
            elif mine:
                rows = _read(table, [content]).filter(pl.col("measurement").is_in(sorted(mine)))
                gathered.parts.setdefault(table, []).append(rows)


def _read(table: str, contents: Iterable[bytes]) -> pl.DataFrame:
    """Files of one table; a column that an older lnlab did not write is null."""
    return pl.scan_parquet(
        list(contents), schema=schema(table), missing_columns="insert", extra_columns="ignore"
    ).collect()


def _outcome(found: Found, asked: Wanted) -> dict[str, Any]:
    """The outcome columns of a run: of the record that settles it, of the last attempt, or null."""
    miss = miss_of(found, asked)
    if miss is None:
        record, made = _settling(found, asked), course(found.records)
        end = made.ended(asked.steps)
        told = _columns(record) | {"seconds": _seconds(found, asked)}
        ran = {"done": end.steps} if end else {"done": asked.steps, "status": "finished", "reason": None}
        return told | (ran if asked.steps else {"done": 0})
    if miss.attempt is not None:
        reached = max(course(found.records).covered, miss.attempt.steps)
        return _columns(miss.attempt) | {"done": min(reached, asked.steps)}
    return dict.fromkeys((*_OF_THE_OUTCOME, "done")) | {"reason": miss.reason if found.damaged else None}


def _columns(record: Record) -> dict[str, Any]:
    return {name: record.outcome.get(name) for name in _OF_THE_OUTCOME}


def _settling(found: Found, asked: Wanted) -> Record:
    """The record that a settled run shows.

    Of a run with updates that of its end, or the last that its updates needed; else the first that finished and holds
    something of it, or the first.
    """
    if asked.steps:
        end = course(found.records).ended(asked.steps)
        return end or next(r for r in found.records if r.first_step < asked.steps <= r.steps)
    keys = set(asked.measurements)
    holding = [record for record in found.records if not keys or keys & set(record.measurements)]
    return next((record for record in holding if record.finished), holding[0])


def _seconds(found: Found, asked: Wanted) -> float:
    """Wall-clock time of all stretches that a run's updates and measurements needed."""
    keys = set(asked.measurements)
    parts = [r for r in found.records if r.first_step < asked.steps or keys & set(r.measurements)]
    return float(sum(record.outcome["seconds"] or 0.0 for record in parts or found.records[:1]))
