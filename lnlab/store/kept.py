"""Results as the files of a store: one pack with what they hold of each trajectory, and the tables of their plan.

So a report is a store. Equal results are equal bytes: a trajectory has one stretch however often it was interrupted,
and nothing is in it that differs between two equal runs. ``join_results`` reads these results again.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from math import isfinite
from pathlib import Path
from typing import Any

import polars as pl

from lnlab.keys import Json, digest, digest_bytes, short_key
from lnlab.store.join import (
    OUTSIDE,
    evaluations_of,
    is_recorded,
    requests_of,
    scored_by,
    trajectories_outside,
)
from lnlab.store.packing import PackWriter
from lnlab.store.packs import PACKS_FOLDER
from lnlab.store.plans import PLAN_FILE, PLANS_FOLDER, TABLES_OF_PLAN, StoredPlan
from lnlab.store.records.checksummed import to_checksummed_json
from lnlab.store.records.record import Record
from lnlab.store.stretch import Stretch
from lnlab.tables import ENDED_STATUSES, WRITTEN_BY_WORKERS, Results, smallest_parquet, table_schema

_NAME_DIGITS, _PACK_DIGITS = 8, 24
_MEASURED = [table for table, columns in WRITTEN_BY_WORKERS.items() if "measurement" in columns]
_OF_OUTCOME = ("status", "reason", "last_finite_loss", "parameters", "device", "versions")


def results_as_files(results: Results) -> dict[str, bytes]:
    """The files of a pack, by their path below a store. None where nothing has been measured or has ended."""
    planned = _planned(results)
    needs = planned.tables["needs"].select(table_schema("needs").names())
    rows = _rows_of_trajectories(planned, needs)
    writer = PackWriter(Path(), encode=lambda rows, _: smallest_parquet(rows))
    stretches = _stretches(planned, needs, rows)
    # Names that no other pack has, and that compress: a digest of all, and the number of each.
    of_all = digest([[s.record.trajectory, s.record.steps, s.record.measurements, s.record.files] for s in stretches])
    for number, stretch in enumerate(stretches):
        record = stretch.record
        tables = rows.get(record.trajectory, {}) if record.files else {}
        folder = Path(record.trajectory) / f"{record.first_step}-{of_all[:_NAME_DIGITS]}{number:06x}"
        files = {f"{table}.parquet": "" for table in tables}
        writer.add(replace(stretch, record=replace(record, folder=folder, files=files)), tables)
    if not stretches:
        return {}
    contents = writer.contents()
    pack = f"0-{digest([digest_bytes(content) for content in contents.values()])[:_PACK_DIGITS]}"
    return {f"{PACKS_FOLDER}/{pack}/{name}": content for name, content in contents.items()}


def plan_as_files(
    stored: StoredPlan, results: Results, as_before: Callable[[str, bytes], bytes] = lambda _, content: content
) -> dict[str, bytes]:
    """The files of the plan of these results, by their path below a store.

    Args:
        stored: what the plan is of.
        results: with its runs, axes and needs.
        as_before: returns the file that lies at a path if it holds the same table, else the content.
    """
    planned = _planned(results)
    frames = {"runs": planned.runs, "axes": planned.axes, "needs": planned.tables["needs"]}
    tables = {
        f"{name}.parquet": smallest_parquet(frames[name].select(table_schema(name).names())) for name in TABLES_OF_PLAN
    }
    folder = f"{PLANS_FOLDER}/{stored.digest}"
    tables = {name: as_before(f"{folder}/{name}", content) for name, content in tables.items()}
    digests = {name: digest_bytes(content) for name, content in tables.items()}
    files = {**tables, PLAN_FILE: to_checksummed_json(asdict(replace(stored, files=digests)))}
    return {f"{folder}/{name}": content for name, content in files.items()}


def _planned(results: Results) -> Results:
    """The results with what their plan asks of their runs, which may be some of its runs."""
    if "needs" not in results.tables:
        return _from_outside(results)
    needs = results.tables["needs"].join(results.runs, on="run", how="semi", maintain_order="left")
    return replace(results, tables={**results.tables, "needs": needs})


def _from_outside(results: Results) -> Results:
    """Results that no plan has asked for, as if one had: each run its own trajectory, each step a measurement of it."""
    runs = results.runs.with_columns(trajectory="run")
    needs = [runs.select("run", step=pl.lit(0, pl.Int64), measurement=pl.lit("", pl.String))]
    tables = {name: table for name, table in results.tables.items() if name in WRITTEN_BY_WORKERS}
    for name in [name for name in _MEASURED if name in tables]:
        tables[name] = tables[name].with_columns(measurement=_outside_key(tables[name]))
        needs.append(tables[name].select("run", "step", "measurement"))
    all_needs = pl.concat(needs).with_columns(
        measurement=pl.when(pl.col("measurement") == "").then(_outside_key(pl.concat(needs))).otherwise("measurement"),
        probe=pl.lit(OUTSIDE),
    )
    unique = all_needs.unique(["run", "measurement"], keep="first", maintain_order=True)
    return replace(results, runs=runs, tables={**tables, "needs": unique}, scans={})


def _outside_key(rows: pl.DataFrame) -> pl.Series:
    """The key of a measurement from outside: its run and its step."""
    places = rows.select("run", "step").unique(maintain_order=True)
    keys = [short_key(digest(["outside", run, step])) for run, step in places.iter_rows()]
    keyed = rows.join(
        places.with_columns(pl.Series("_key", keys, pl.String)),
        on=["run", "step"],
        nulls_equal=True,
        how="left",
        maintain_order="left",
    )
    return keyed["_key"]


def _rows_of_trajectories(results: Results, needs: pl.DataFrame) -> dict[str, dict[str, pl.DataFrame]]:
    """Trajectory -> table -> its rows. Of what several runs need, the first trajectory has them."""
    of_run = results.runs.select("run", _trajectory="trajectory")
    firsts = needs.unique("measurement", keep="first", maintain_order=True).select("run", "measurement")
    rows: dict[str, dict[str, pl.DataFrame]] = {}

    def add(name: str, table: pl.DataFrame) -> None:
        for (trajectory,), of_trajectory in table.group_by("_trajectory", maintain_order=True):
            rows.setdefault(str(trajectory), {})[name] = of_trajectory.select(table_schema(name).names())

    for name in _MEASURED:
        if name in results.tables:
            own = (
                results.lazy(name).collect().join(firsts, on=["run", "measurement"], how="semi", maintain_order="left")
            )
            add(name, own.join(of_run, on="run", maintain_order="left"))
    if "curves" in results.tables:
        add("curves", _curves(results, needs))
    return rows


def _curves(results: Results, needs: pl.DataFrame) -> pl.DataFrame:
    """The rows of ``curves``, each once, with the ``_trajectory`` that holds them."""
    of_run = results.runs.select("run", _trajectory="trajectory")
    curves = results.lazy("curves").collect().join(of_run, on="run", maintain_order="left")
    outside = pl.col("_trajectory").is_in(trajectories_outside(results.runs, needs).implode())
    once = ["_trajectory", "step", "split", "quantity"]
    trained = curves.filter(outside | is_recorded())
    trained = pl.concat(
        [
            trained.filter(outside),
            trained.filter(~outside).unique(once, keep="first", maintain_order=True),
        ]
    )
    scores = curves.filter(~(outside | is_recorded())).drop("_trajectory").with_columns(kind=scored_by())
    owner = requests_of(results.runs, needs).owner
    owners = pl.DataFrame(
        {"measurement": list(owner), "_trajectory": list(owner.values())},
        {"measurement": pl.String, "_trajectory": pl.String},
    )
    owned = evaluations_of(needs).join(owners, on="measurement", maintain_order="left").drop("measurement")
    scored = scores.join(owned, on=["run", "step", "split", "kind"], maintain_order="left")
    steps = owned.unique(["run", "step"], keep="first", maintain_order=True).select("run", "step", "_trajectory")
    epochs = scores.filter(quantity="epoch").join(steps, on=["run", "step"], maintain_order="left")
    columns = [*table_schema("curves").names(), "_trajectory"]
    evaluated = pl.concat([scored.select(columns), epochs.select(columns)])
    evaluated = evaluated.unique(once, keep="first", maintain_order=True)
    return pl.concat([trained.select(columns), evaluated]).with_columns(trajectory="_trajectory")


def _stretches(results: Results, needs: pl.DataFrame, rows: Mapping[str, Mapping[str, pl.DataFrame]]) -> list[Stretch]:
    """The stretches of every trajectory. ``files`` of a record says which tables go with it, and how many rows."""
    requests = requests_of(results.runs, needs)
    by_trajectory: dict[str, list[dict[str, Any]]] = {}
    for run in results.runs.iter_rows(named=True):
        by_trajectory.setdefault(run["trajectory"], []).append(run)
    stretches = []
    for trajectory, runs in by_trajectory.items():
        tables = rows.get(trajectory, {})
        asked = requests.by_trajectory[trajectory]
        thinned = sorted({name for run in runs for name in results.thinned.get(run["run"], ())})
        files = {name: str(table.height) for name, table in tables.items()}
        ended = [run for run in runs if run["status"] in ENDED_STATUSES]
        held: dict[str, None] = {}
        covered = 0
        if ended:
            # One stretch for each length, as how a run ended is told by the record that ends where it does.
            lengths = {_done(run): run for run in sorted(ended, key=lambda run: (_done(run), run["steps"] or 0))}
            covered = max(lengths)
            for run in ended:
                keys = asked[run["steps"]]
                held |= dict.fromkeys(
                    key for key, step in keys.items() if run["status"] == "finished" or step <= covered
                )
            start, taken, of_first = 0, tuple(held), files
            for length, run in lengths.items():
                stretches.append(_stretch(trajectory, run, length, (), taken, of_first, thinned, start))
                start, taken, of_first = length, (), {}
        elif tables:
            # What there is of runs that have not ended.
            curves = tables.get("curves")
            reached = 0 if curves is None else int(curves["step"].max() or 0)  # type: ignore[arg-type]
            first = max(runs, key=lambda run: run["steps"] or 0)
            partial = min(reached, max((first["steps"] or 0) - 1, 0))
            held |= dict.fromkeys(_found(tables, asked))
            state = {**first, "status": "finished", "reason": None}
            stretches.append(_stretch(trajectory, state, partial, (), tuple(held), files, thinned))
        for run in runs:
            if run["status"] not in (None, *ENDED_STATUSES):
                lacking = tuple(key for key in asked[run["steps"]] if key not in held)
                stretches.append(_stretch(trajectory, run, max(_done(run), covered), lacking, (), {}, [], covered))
    return stretches


def _done(run: Mapping[str, Any]) -> int:
    return int(run["steps"] or 0) if run.get("done") is None else int(run["done"])


def _found(tables: Mapping[str, pl.DataFrame], asked: Mapping[int, Mapping[str, int]]) -> list[str]:
    """The measurements of which there are rows."""
    named = [set(table["measurement"]) for name, table in tables.items() if name != "curves"]
    there: set[str] = set().union(*named)
    return [key for keys in asked.values() for key in keys if key in there]


def _stretch(
    trajectory: str,
    run: Mapping[str, Any],
    steps: int,
    asked: tuple[str, ...],
    measurements: tuple[str, ...],
    files: Mapping[str, str],
    thinned: list[str],
    first_step: int = 0,
) -> Stretch:
    loss = run.get("last_finite_loss")
    outcome: dict[str, Json] = {name: run.get(name) for name in _OF_OUTCOME}
    outcome |= {"trajectory": trajectory, "steps": steps, "seconds": None}
    outcome["last_finite_loss"] = loss if loss is not None and isfinite(loss) else None
    record = Record(
        folder=Path(),
        trajectory=trajectory,
        first_step=first_step,
        steps=steps,
        asked=(*measurements, *asked),
        measurements=measurements,
        outcome=outcome,
        files=files,
        thinned=tuple(thinned),
    )
    return Stretch(record, files=None)
