"""From records and a plan to ``Results``: every byte that is read is verified first."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import polars as pl

from lnlab.store.pending import miss_of
from lnlab.store.records import Found, Record, look
from lnlab.tables import WRITTEN_BY_WORKERS, Results, frame, schema

_OF_THE_OUTCOME = ("status", "reason", "seconds", "parameters", "last_finite_loss", "device", "versions")
_BY_MEASUREMENT = [table for table, columns in WRITTEN_BY_WORKERS.items() if "measurement" in columns]


@dataclass
class Gathered:
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
    tables["curves"] = _curves(runs, gathered.rows("curves"))
    tables["needs"] = places.select("run", "variant", "seed", "step", "probe", "measurement")
    return Results(pl.concat([runs, outcomes], how="horizontal"), plan["axes"], tables)


def _along(where: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """The rows of every run, in the order of the plan."""
    return where.join(rows, on="measurement", how="inner", maintain_order="left_right")


def _curves(runs: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """The curves of every run, up to its own number of updates; a step recorded twice counts once, first by name."""
    once = rows.unique(["trajectory", "step", "split", "quantity"], keep="first", maintain_order=True)
    named = runs.select("run", "variant", "seed", "trajectory", "steps")
    joined = named.join(once, on="trajectory", maintain_order="left_right").filter(pl.col("step") <= pl.col("steps"))
    return joined.select("run", "variant", "seed", "step", "trajectory", "split", "quantity", "value")


def _by_steps(runs: pl.DataFrame, needs: pl.DataFrame) -> dict[str, dict[int, list[str]]]:
    """Trajectory -> number of updates of a run -> its measurements."""
    of_run = {run: (key, steps) for run, key, steps in runs.select("run", "trajectory", "steps").iter_rows()}
    found: dict[str, dict[int, list[str]]] = {}
    for trajectory, steps in of_run.values():
        found.setdefault(trajectory, {})[steps] = []
    for run, measurement in needs.select("run", "measurement").iter_rows():
        trajectory, steps = of_run[run]
        found[trajectory][steps].append(measurement)
    return found


def wanted(runs: pl.DataFrame, needs: pl.DataFrame) -> dict[str, list[str]]:
    """Trajectory -> its measurements, each once."""
    found = _by_steps(runs, needs).items()
    return {trajectory: list(dict.fromkeys(chain(*by_steps.values()))) for trajectory, by_steps in found}


def _gather(root: Path, runs: pl.DataFrame, needs: pl.DataFrame) -> Gathered:
    gathered = Gathered()
    for trajectory, by_steps in _by_steps(runs, needs).items():
        found = look(root, trajectory)
        for steps, keys in by_steps.items():
            gathered.outcomes[trajectory, steps] = _outcome(found, keys, steps)
        _sort(found, {key for keys in by_steps.values() for key in keys}, gathered)
    return gathered


def _sort(found: Found, asked: set[str], gathered: Gathered) -> None:
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


def _outcome(found: Found, keys: list[str], steps: int) -> dict[str, Any]:
    """The outcome columns of a run of so many updates: of the record that settles it, of the last attempt, or null.

    Updates that were made are those of the longest record, up to the run's own end: the one that settles it may hold
    no more than what was measured at the start.
    """
    miss = miss_of(found, keys)
    record = miss.attempt if miss else _settling(found, keys)
    if record is not None:
        made = max(each.outcome["steps"] for each in found.records)
        return {name: record.outcome[name] for name in _OF_THE_OUTCOME} | {"done": min(made, steps)}
    reason = miss.reason if miss and found.damaged else None
    return dict.fromkeys((*_OF_THE_OUTCOME, "done")) | {"reason": reason}


def _settling(found: Found, keys: list[str]) -> Record:
    """The record that a finished run shows: the first that finished and holds something of it, else the first."""
    holding = [record for record in found.records if not keys or set(keys) & set(record.measurements)]
    return next((record for record in holding if record.finished), holding[0])
