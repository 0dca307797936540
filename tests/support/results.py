"""Results made by hand: the one way for tests of selections, quantities and claims to state runs with their rows."""

from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from lnlab.keys import canonical
from lnlab.tables import Results, frame, table_schema

FRONT = {"run": pl.String, "variant": pl.String, "seed": pl.Int64}
ENDED = dict(table_schema("runs")) | {"status": pl.String, "reason": pl.String, "done": pl.Int64}
TABLES = ("sites", "lines", "spectra", "histograms", "curves")


def results_of(runs: Iterable[Mapping[str, Any]]) -> Results:
    """The results of these runs.

    Args:
        runs: each ``{variant, seed, setting}``, and what is not as of a run that finished without an update: ``steps``,
            ``status``, ``reason``, ``done``, or its name ``run``. ``axes`` are its values by path, or pairs of a value
            and its label. The rows of a table stand under the table's name, without run, variant and seed; those of
            ``needs`` are whole.
    """
    told, axes, tables = [], [], {name: [] for name in (*TABLES, "needs")}
    for given in runs:
        steps, status = given.get("steps", 0), given.get("status", "finished")
        run = given.get("run", f"{given['variant']}-{given['seed']}")
        reason = given.get("reason", "loss is not finite" if status == "diverged" else None)
        done = given.get("done", steps if status else None)
        front = {"run": run, "variant": given["variant"], "seed": given["seed"]}
        told.append(front | {"trajectory": f"t{run}", "steps": steps, "setting": canonical(given["setting"])})
        told[-1] |= {"status": status, "reason": reason, "done": done}
        for path, value in given.get("axes", {}).items():
            value, label = value if isinstance(value, tuple) else (value, str(value))
            number = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
            axes.append({"run": run, "axis": path, "value": canonical(value), "number": number, "label": label})
        for name in TABLES:
            tables[name] += [front | {"step": 0, "trajectory": f"t{run}", **row} for row in given.get(name, ())]
        tables["needs"] += [{"run": run, **row} for row in given.get("needs", ())]
    made = {name: rows_of(name, tables[name]) for name in TABLES} | {"needs": frame("needs", tables["needs"])}
    columns = {column: [row.get(column) for row in told] for column in ENDED}
    return Results(pl.DataFrame(columns, schema=ENDED), frame("axes", axes), made)


def rows_of(table: str, rows: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    """Rows of a table of results, with run, variant, seed and step in front; what a row does not say is null."""
    listed, columns = list(rows), FRONT | {"step": pl.Int64} | dict(table_schema(table))
    return pl.DataFrame({column: [row.get(column) for row in listed] for column in columns}, schema=columns)


def evaluated(
    curve: Mapping[int, float], entropy: float | None = None, split: str = "validation"
) -> list[dict[str, Any]]:
    """The rows of a validation loss by step, and of the entropy of single tokens at the start."""
    rows = [{"step": step, "split": split, "quantity": "nll", "value": value} for step, value in curve.items()]
    told = [{"step": 0, "split": "train", "quantity": "unigram_entropy", "value": entropy}]
    return rows if entropy is None else [*rows, *told]
