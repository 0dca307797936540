"""From records and a plan to ``Results``: every byte that is read is verified first."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl

from lnlab.keys import canonical
from lnlab.specfile.columns import EVALUATIONS, NEXT_UPDATE_CURVES, RECORDED
from lnlab.store.files import as_store_error
from lnlab.store.missing_work import OUTCOME_COLUMNS, TrajectoryRequest, outcome_of_run
from lnlab.store.packs import Pack
from lnlab.store.records.coverage import coverage_of
from lnlab.store.records.layout import in_stretch_order
from lnlab.store.records.records import StoreReader, TrajectoryContents
from lnlab.store.stretch import PackReplaced, Stretch, scan_files
from lnlab.tables import WRITTEN_BY_WORKERS, Results, frame, read_scan, table_schema

_SCORED_BY = {quantity: kind for kind, quantities in EVALUATIONS.items() for quantity in quantities}
_BY_MEASUREMENT = [table for table, columns in WRITTEN_BY_WORKERS.items() if "measurement" in columns]

OUTSIDE = canonical({"kind": "outside"})
"""What stands for a probe where something else has measured."""

LARGEST_TABLE_IN_MEMORY = 64 * 1024 * 1024
"""Bytes of a table's files beyond which it is scanned anew for each question, and never held whole."""


@dataclass(frozen=True)
class _Requests:
    """What a plan asks of each trajectory, and whose rows each of its runs shows.

    Attributes:
        by_trajectory: trajectory -> number of updates of a run -> its measurements, each with its step.
        owner: measurement -> the trajectory that takes it for all that need it, the first of them.
    """

    by_trajectory: Mapping[str, Mapping[int, Mapping[str, int]]]
    owner: Mapping[str, str]

    @property
    def owners(self) -> pl.DataFrame:
        """``measurement owner``."""
        columns = {"measurement": list(self.owner.keys()), "owner": list(self.owner.values())}
        return pl.DataFrame(columns, schema={"measurement": pl.String, "owner": pl.String})


def join_results(root: Path, plan: Mapping[str, pl.DataFrame], *, rows: bool = True) -> Results:
    """The results of a plan, given its tables ``runs``, ``axes`` and ``needs``.

    Without ``rows`` no table is read: they say how the runs stand, and ``last_finite_loss`` only where a record does.

    Raises:
        StoreError: this user may not read the store.
    """
    requests = requests_of(plan["runs"], plan["needs"])
    while True:
        contents = dict(StoreReader(root).read_all(requests.by_trajectory))
        try:
            return _joined(plan, requests, contents, rows=rows)
        except (PackReplaced, FileNotFoundError):  # the next reader finds the pack that it was replaced by
            continue
        except OSError as error:
            raise as_store_error("read", root, error) from error


def _joined(
    plan: Mapping[str, pl.DataFrame], requests: _Requests, contents: Mapping[str, TrajectoryContents], *, rows: bool
) -> Results:
    runs = plan["runs"]
    outcomes = {
        (trajectory, steps): outcome_of_run(contents[trajectory], TrajectoryRequest(steps, keys))
        for trajectory, by_steps in requests.by_trajectory.items()
        for steps, keys in by_steps.items()
    }
    columns = pl.DataFrame(
        [outcomes[key] for key in runs.select("trajectory", "steps").iter_rows()],
        schema={name: table_schema("outcomes")[name] for name in OUTCOME_COLUMNS}
        | {"done": table_schema("outcomes")["steps"]},
    )
    thinned = {
        run: frozenset(name for record in contents[trajectory].records for name in record.thinned)
        for run, trajectory in runs.select("run", "trajectory").iter_rows()
    }
    thinned = {run: names for run, names in thinned.items() if names}
    if not rows:
        return Results(pl.concat([runs, columns], how="horizontal"), plan["axes"], thinned=thinned)
    run_needs = plan["needs"].join(runs.select("run", "variant", "seed"), on="run", maintain_order="left")
    stored = _StoredRows(contents, requests)
    scans = {
        table: _MeasuredRows(stored, table, run_needs.select("run", "variant", "seed", "step", "measurement"))
        for table in _BY_MEASUREMENT
    } | {"curves": _Curves(stored, runs, plan["needs"])}
    large = {table: scan for table, scan in scans.items() if stored.size(table) > LARGEST_TABLE_IN_MEMORY}
    tables = {table: scan().collect() for table, scan in scans.items() if table not in large}
    tables["needs"] = run_needs.select("run", "variant", "seed", "step", "probe", "measurement")
    results = Results(runs, plan["axes"], _Tables(tables, large) if large else tables, scans=large, thinned=thinned)
    found = _last_finite_losses(results, columns["last_finite_loss"], contents)
    return replace(results, runs=pl.concat([runs, columns.with_columns(found)], how="horizontal"))


def _last_finite_losses(results: Results, recorded: pl.Series, contents: Mapping[str, TrajectoryContents]) -> pl.Series:
    """The last finite training loss of every run, up to its own number of updates.

    ``recorded`` is what the record of each run says. It does not hold where the trajectory ended there, or was trained
    beyond the end of the run and no record ends with it. Then, and where nothing is recorded, curves say it.
    """
    lacking = []
    named = results.runs.select("run", "trajectory", "steps").with_columns(recorded.alias("loss"))
    for run, trajectory, steps, loss in named.iter_rows():
        coverage = coverage_of(contents[trajectory].records)
        ended = coverage.end is not None and coverage.end.steps == steps
        ends_there = any(record.steps == steps for record in contents[trajectory].records)
        if loss is None or (coverage.covered > steps and not ends_there) or ended:
            lacking.append(run)
    loss = (pl.col("split") == "train") & (pl.col("quantity") == "loss")
    losses = results.rows("curves", pl.col("run").is_in(lacking), loss, pl.col("value").is_finite())
    last = losses.sort("step").group_by("run").agg(_last=pl.col("value").last())
    joined = results.runs.select("run").join(last, on="run", how="left", maintain_order="left")
    return pl.select(pl.coalesce(joined["_last"], recorded)).to_series().alias("last_finite_loss")


@dataclass(frozen=True)
class _StoredRows:
    """What a store holds of the trajectories of a plan."""

    contents: Mapping[str, TrajectoryContents]
    requests: _Requests

    def size(self, table: str) -> int:
        """Bytes of the files with rows of a table."""
        stretches = [stretch for contents in self.contents.values() for stretch in contents.stretches]
        packs = {id(stretch.pack): stretch.pack for stretch in stretches if stretch.pack is not None}
        packed = sum(pack.tables[table].size for pack in packs.values() if table in pack.tables)
        return packed + sum(len(stretch.files.get(f"{table}.parquet", b"")) for stretch in stretches if stretch.files)

    def curves_of(self, trajectory: str) -> list[Stretch]:
        """The stretches of a trajectory that have curves, in their order."""
        return [each for each in self.contents[trajectory].stretches if "curves.parquet" in each.record.files]

    def rows(self, table: str, trajectories: Iterable[str]) -> pl.LazyFrame:
        """The rows of these trajectories that count, those of a trajectory in the order of its stretches."""
        whole: list[Stretch] = []
        mixed: list[Stretch] = []
        parts: list[pl.LazyFrame] = []
        for trajectory in trajectories:
            contents = self.contents[trajectory]
            if table == "curves":
                stretches = self.curves_of(trajectory)
                # joined packs hold the stretches of a trajectory in the order of the packs, not in their own
                in_order = all(
                    one.pack is two.pack and one.position <= two.position for one, two in pairwise(stretches)
                )
                (whole if in_order else mixed).extend(stretches)
                continue
            first = contents.first_holders()
            asked = {key for keys in self.requests.by_trajectory[trajectory].values() for key in keys}
            for number, stretch in enumerate(contents.stretches):
                if f"{table}.parquet" not in stretch.record.files:
                    continue
                # of a measurement that two trajectories or stretches hold, one of them has the rows that count
                own = {key for key in stretch.record.measurements if first[key] == number and key in asked}
                surplus = [key for key in stretch.record.measurements if key in self.requests.owner and key not in own]
                if own and surplus:
                    parts.append(_scan(table, [stretch]).filter(~pl.col("measurement").is_in(surplus)))
                elif own:
                    whole.append(stretch)
        names = table_schema(table).names()
        if mixed:
            rank = {name: n for n, name in enumerate(in_stretch_order({each.record.folder.name for each in mixed}))}
            order = pl.LazyFrame({"stretch": list(rank), "_order": list(rank.values())})
            parts.append(_scan(table, mixed).join(order, on="stretch").sort("_order", maintain_order=True))
        return pl.concat(part.select(names) for part in (_scan(table, whole, named=False), *parts))


def _scan(table: str, stretches: Iterable[Stretch], *, named: bool = True) -> pl.LazyFrame:
    """The rows of these stretches, with the column ``stretch`` if ``named``."""
    loose: dict[str, bytes] = {}
    packs: dict[int, tuple[Pack, list[int]]] = {}
    for stretch in stretches:
        if stretch.pack is not None:
            packs.setdefault(id(stretch.pack), (stretch.pack, []))[1].append(stretch.position)
        elif stretch.files is not None:
            loose[f"{stretch.record.trajectory}/{stretch.record.folder.name}"] = stretch.files[f"{table}.parquet"]
    parts = [frame(table, []).lazy().with_columns(stretch=pl.lit("", pl.String))]
    if loose and not named:  # many files at once
        parts.append(scan_files(table, loose.values()).with_columns(stretch=pl.lit("")))
    elif loose:
        parts += [
            scan_files(table, [content]).with_columns(stretch=pl.lit(key.partition("/")[2]))
            for key, content in loose.items()
        ]
    columns = [*table_schema(table).names(), "stretch"]
    parts += [pack.scan(table, sorted(positions)).select(columns) for pack, positions in packs.values()]
    return pl.concat(parts)


@dataclass(frozen=True)
class _MeasuredRows:
    """The rows of a table of measurements, of every run in the order of the plan. Called with conditions on them.

    Attributes:
        stored: what the store holds.
        table: its name.
        keys: ``run variant seed step measurement``.
    """

    stored: _StoredRows
    table: str
    keys: pl.DataFrame

    def __call__(self, *conditions: pl.Expr, exact: bool = True) -> pl.LazyFrame:
        """The rows that meet these conditions. Files without a run that meets them are not read."""
        del exact  # no measurement counts twice
        on_keys, others = _split(conditions, self.keys.columns)
        keys = self.keys.filter(*on_keys)
        owner = self.stored.requests.owner
        trajectories = dict.fromkeys(owner[key] for key in keys["measurement"].unique(maintain_order=True))
        rows = self.stored.rows(self.table, trajectories)
        return keys.lazy().join(rows, on="measurement", maintain_order="left_right").filter(*others)


@dataclass(frozen=True)
class _Curves:
    """The curves of every run, up to its own number of updates. Called with conditions on the rows.

    If a step was recorded twice, the row of the stretch that is first by name counts. Training that went on, and what
    another spec evaluated on the same trajectory, changes none of a run's rows. The initial state of several
    trajectories is evaluated once, and its row belongs to each of them.
    """

    stored: _StoredRows
    runs: pl.DataFrame
    needs: pl.DataFrame

    def __call__(self, *conditions: pl.Expr, exact: bool = True) -> pl.LazyFrame:
        """The rows that meet these conditions. Files without a run that meets them are not read.

        Unless ``exact``, they come in any order, and a row that was recorded twice may stand there twice.
        """
        named = self.runs.select("run", "variant", "seed", "trajectory", "steps").with_row_index("_order")
        on_runs, others = _split(conditions, ["run", "variant", "seed"])
        on_rows, others = _split(others, ["step", "split", "quantity"])
        if on_runs:
            named = named.filter(*on_runs)
        owned = self._owned(named)
        trajectories = dict.fromkeys([*named["trajectory"], *owned["owner"].unique(maintain_order=True)])
        rows = self.stored.rows("curves", trajectories).filter(*on_rows)
        quantity = pl.col("quantity")
        outside = pl.col("trajectory").is_in(trajectories_outside(self.runs, self.needs).implode())
        recorded = outside | is_recorded()
        ahead = quantity.is_in(NEXT_UPDATE_CURVES).cast(pl.Int64)
        trained = named.lazy().join(rows.filter(recorded), on="trajectory", maintain_order="left_right")
        columns = ["run", "variant", "seed", "step", "trajectory", "split", "quantity", "value"]
        trained = trained.filter(outside | (pl.col("step") + ahead <= pl.col("steps"))).select(*columns, "_order")
        evaluated = pl.concat(
            part.select(*columns, "_order") for part in _evaluated(owned.lazy(), rows.filter(~recorded))
        )
        if not exact:
            return pl.concat([trained.select(columns), evaluated.select(columns)]).filter(*others)
        # within a stretch no update is made twice, so that only evaluations and several stretches need be looked at
        once = ["_order", "step", "split", "quantity"]
        evaluated = evaluated.unique(once, keep="first", maintain_order=True)
        if any(len(self.stored.curves_of(trajectory)) > 1 for trajectory in trajectories):
            trained = trained.unique(once, keep="first", maintain_order=True)
        curves = pl.concat([trained, evaluated]).sort("_order", "step", maintain_order=True).select(columns)
        return curves.filter(*others)

    def _owned(self, runs: pl.DataFrame) -> pl.DataFrame:
        """``run step split kind variant seed trajectory _order owner``: the evaluations of these runs."""
        evaluations = evaluations_of(self.needs.join(runs, on="run", how="semi", maintain_order="left"))
        named = runs.select("run", "variant", "seed", "trajectory", "_order")
        evaluations = evaluations.join(named, on="run", maintain_order="left")
        owners = self.stored.requests.owners
        return evaluations.join(owners, on="measurement", maintain_order="left").drop("measurement")


def evaluations_of(needs: pl.DataFrame) -> pl.DataFrame:
    """``run step split kind measurement``: the needs that put scores on the curve."""
    probes = {probe: json.loads(probe) for probe in needs["probe"].unique()}
    choices = {probe: choice for probe, choice in probes.items() if choice["kind"] in EVALUATIONS}
    rows = [(probe, choice["kind"], choice["split"]) for probe, choice in choices.items()]
    table = pl.DataFrame(rows, {"probe": pl.String, "kind": pl.String, "split": pl.String}, orient="row")
    keys = ["run", "step", "split", "kind"]
    joined = needs.join(table, on="probe", maintain_order="left_right")
    return joined.select(*keys, "measurement").unique(keys, maintain_order=True)


def is_recorded() -> pl.Expr:
    """Whether a row of ``curves`` is one that training itself records."""
    quantity = pl.col("quantity")
    return (pl.col("split") == "train") & quantity.is_in(RECORDED) & (quantity != "epoch")


def scored_by() -> pl.Expr:
    """The kind of the evaluation that a row of ``curves`` is of, or null."""
    return pl.col("quantity").replace_strict(_SCORED_BY, default=None, return_dtype=pl.String)


def trajectories_outside(runs: pl.DataFrame, needs: pl.DataFrame) -> pl.Series:
    """The trajectories that something else has trained. All their curves belong to their one run."""
    return runs.join(needs.filter(probe=OUTSIDE), on="run", how="semi")["trajectory"]


def _split(conditions: Iterable[pl.Expr], columns: Iterable[str]) -> tuple[list[pl.Expr], list[pl.Expr]]:
    """Two lists: the conditions that read no column but these, and all others."""
    known = set(columns)
    ours: list[pl.Expr] = []
    others: list[pl.Expr] = []
    for condition in conditions:
        (ours if known.issuperset(condition.meta.root_names()) else others).append(condition)
    return ours, others


class _Tables(Mapping[str, pl.DataFrame]):
    """Tables some of which lie in files: these are read when they are first asked for."""

    def __init__(self, held: Mapping[str, pl.DataFrame], scans: Mapping[str, Any]) -> None:
        self._held = dict(held)
        self._names = [*held, *scans]
        self._scans = scans

    def __getitem__(self, table: str) -> pl.DataFrame:
        if table not in self._held:
            self._held[table] = read_scan(self._scans[table])
        return self._held[table]

    def __contains__(self, table: object) -> bool:
        return table in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def _evaluated(owned: pl.LazyFrame, rows: pl.LazyFrame) -> Iterator[pl.LazyFrame]:
    """Evaluated scores, then the epochs at evaluated steps, of each run that needs an evaluation.

    An evaluation that several trajectories need is stored with the first of them, its ``owner``. The number of epochs
    is a row at every step where anything was evaluated.

    Args:
        owned: a row for each evaluation that a run needs, with its ``owner``.
        rows: of the table ``curves``, by the trajectory that recorded them.
    """
    owner_rows = rows.rename({"trajectory": "owner"})
    epochs = pl.col("quantity") == "epoch"
    scores = owner_rows.with_columns(kind=scored_by())
    yield owned.join(scores, on=["owner", "step", "split", "kind"], maintain_order="left_right").drop("kind")
    evaluated_steps = owned.drop("split", "kind").unique(["run", "step"], keep="first", maintain_order=True)
    yield evaluated_steps.join(owner_rows.filter(epochs), on=["owner", "step"], maintain_order="left_right")


def requests_of(runs: pl.DataFrame, needs: pl.DataFrame) -> _Requests:
    """What a plan asks of each trajectory.

    A measurement that several trajectories need, such as one of a common initial state, is asked of the first alone.
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
    return _Requests(by_trajectory, owner)


def trajectory_requests(runs: pl.DataFrame, needs: pl.DataFrame) -> dict[str, TrajectoryRequest]:
    """Trajectory -> what all its runs request of it."""
    requests = {}
    for trajectory, by_steps in requests_of(runs, needs).by_trajectory.items():
        measurements = {key: step for keys in by_steps.values() for key, step in keys.items()}
        requests[trajectory] = TrajectoryRequest(max(by_steps), measurements)
    return requests
