"""Results made by hand: the one way for tests of selections, quantities and claims to state runs with their rows."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from lnlab.keys import canonical
from lnlab.tables import WRITTEN_BY_WORKERS, Results, frame, table_schema

FRONT = {"run": pl.String, "variant": pl.String, "seed": pl.Int64}
ENDED = dict(table_schema("runs")) | {"status": pl.String, "reason": pl.String, "done": pl.Int64}
RECORDED = dict.fromkeys(("device", "versions"), pl.String) | {"parameters": pl.Int64}
RECORDED |= dict.fromkeys(("seconds", "last_finite_loss"), pl.Float64)
"""What a run may say of how it was run; columns of all runs where one says it."""
TABLES = ("sites", "lines", "spectra", "histograms", "curves")


def results_of(runs: Iterable[Mapping[str, Any]]) -> Results:
    """The results of these runs.

    Args:
        runs: each ``{variant, seed, setting}``, and what is not as of a run that finished without an update: ``steps``,
            ``status``, ``reason``, ``done``, what is ``RECORDED``, or its name ``run``. ``axes`` are its values by
            path, or pairs of a value and its label. The rows of a table stand under the table's name, without run,
            variant and seed; those of ``needs`` are whole.
    """
    told, axes, tables = [], [], {name: [] for name in (*TABLES, "needs")}
    kinds = dict(ENDED)
    for given in runs:
        steps, status = given.get("steps", 0), given.get("status", "finished")
        run = given.get("run", f"{given['variant']}-{given['seed']}")
        reason = given.get("reason", "loss is not finite" if status == "diverged" else None)
        done = given.get("done", steps if status else None)
        front = {"run": run, "variant": given["variant"], "seed": given["seed"]}
        told.append(front | {"trajectory": f"t{run}", "steps": steps, "setting": canonical(given["setting"])})
        recorded = {name: given[name] for name in RECORDED if name in given}
        kinds |= {name: RECORDED[name] for name in recorded}
        told[-1] |= {"status": status, "reason": reason, "done": done, **recorded}
        for path, value in given.get("axes", {}).items():
            value, label = value if isinstance(value, tuple) else (value, str(value))
            number = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
            axes.append({"run": run, "axis": path, "value": canonical(value), "number": number, "label": label})
        for name in TABLES:
            tables[name] += [front | {"step": 0, "trajectory": f"t{run}", **row} for row in given.get(name, ())]
        tables["needs"] += [{"run": run, **row} for row in given.get("needs", ())]
    made = {name: rows_of(name, tables[name]) for name in TABLES} | {"needs": frame("needs", tables["needs"])}
    columns = {column: [row.get(column) for row in told] for column in kinds}
    return Results(pl.DataFrame(columns, schema=kinds), frame("axes", axes), made)


def with_rows(results: Results, table: str, rows: Mapping[str, Iterable[Mapping[str, Any]]]) -> Results:
    """With further rows of a table, by their run, without run, variant and seed."""
    known = results.runs.select("run", "variant", "seed").rows_by_key("run", named=True, unique=True)
    made = rows_of(table, [{"run": run, **known[run], **row} for run, told in rows.items() for row in told])
    return replace(results, tables={**results.tables, table: pl.concat([results.tables[table], made])})


def with_all_tables(results: Results) -> Results:
    """With the tables that workers write, as a report has them, also those without rows, and no others."""
    return replace(results, tables={name: results.tables.get(name, rows_of(name, ())) for name in WRITTEN_BY_WORKERS})


def rows_of(table: str, rows: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    """Rows of a table of results, with run, variant, seed and step in front; what a row does not say is null."""
    listed, columns = list(rows), FRONT | {"step": pl.Int64} | dict(table_schema(table))
    return pl.DataFrame({column: [row.get(column) for row in listed] for column in columns}, schema=columns)


def lettered_run(letter: str, setting: Mapping[str, Any], rate: float, **run: Any) -> dict[str, Any]:
    """A run whose training loss converges (C) or not (N), diverges (D), ran out of time (T), or has not run (-)."""
    told = [("unigram_entropy", 0, 1.0), ("loss", 0, 1.2)]
    told += [("epoch_loss", 10 * n, 0.2 if letter == "C" else 1.1) for n in (1, 2, 3, 4)]
    names = ("quantity", "step", "value")
    curves = [{"split": "train"} | dict(zip(names, row, strict=True)) for row in told if letter not in "-T"]
    status = {"D": "diverged", "-": None, "T": "timed_out"}.get(letter, "finished")
    own = {**setting, "optimizer": {"kind": "sgd", "lr": rate}, "train": {"steps": 40}}
    return run | {"setting": own, "steps": 40, "done": 40, "status": status, "curves": curves}


def evaluated(
    curve: Mapping[int, float], entropy: float | None = None, split: str = "validation"
) -> list[dict[str, Any]]:
    """The rows of a validation loss by step, and of the entropy of single tokens at the start."""
    rows = [{"step": step, "split": split, "quantity": "nll", "value": value} for step, value in curve.items()]
    told = [{"step": 0, "split": "train", "quantity": "unigram_entropy", "value": entropy}]
    return rows if entropy is None else [*rows, *told]
