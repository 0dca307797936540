"""A table that something else has written, as runs: one row a run, or one a run and step."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import polars as pl

from lnlab.errors import LabError, nearest
from lnlab.issues import Issue
from lnlab.keys import Json
from lnlab.recorded.runs import RecordedRun
from lnlab.recorded.settings import nested_settings, split_and_quantity
from lnlab.specfile.values import value_label
from lnlab.tables import table_schema

STATUSES = {
    "finished": "finished",
    "completed": "finished",
    "success": "finished",
    "diverged": "diverged",
    "nan": "diverged",
    "failed": "failed",
    "crashed": "failed",
    "killed": "interrupted",
    "running": "interrupted",
    "interrupted": "interrupted",
    "timed_out": "timed_out",
    "out_of_memory": "out_of_memory",
}
"""Words of trackers for how a run ended, and lnlab's."""
_ROWS_SHOWN = 3


def runs_of_table(
    table: Any,
    *,
    axes: Sequence[str],
    seed: str = "seed",
    step: str | None = None,
    values: Sequence[str] | None = None,
    split: Mapping[str, str] | None = None,
    status: str | None = None,
    steps: int | None = None,
) -> list[RecordedRun]:
    """The runs of a table. The arguments are those of ``lnlab.from_frame``.

    Raises:
        LabError: a column is missing or has no numbers, a row has no seed or no step, or two rows are of one run and
            step.
    """
    rows = _as_frame(table)
    for name in (*axes, seed, step, status, *(values or ()), *(split or {})):
        if name is not None and name not in rows.columns:
            _refuse(f"there is no column '{name}'", nearest(name, rows.columns))
    if rows.is_empty():
        _refuse("the table has no rows", "give one a run, or one a run and step")
    rows = rows.with_columns(_whole_numbers(rows, seed, "seed"))
    if step is not None:
        rows = rows.with_columns(_whole_numbers(rows, step, "step"))
    keys = [*axes, seed]
    identifying = [*keys, *([step] if step else [])]
    measured = list(values or [n for n, k in rows.schema.items() if k.is_numeric() and n not in {*identifying, status}])
    if not values and step is not None:  # what is the same at every step of every run is a setting
        counts = rows.group_by(keys).agg(pl.col(name).drop_nulls().n_unique() for name in measured)
        measured = [name for name in measured if int(counts[name].max() or 0) > 1]  # type: ignore[arg-type]
    if not measured:
        _refuse("no column has numbers that vary", "name those that were measured in values=")
    for name in measured:
        if not rows.schema[name].is_numeric():
            shown = ", ".join(map(str, rows[name].drop_nulls().unique().sort().head(_ROWS_SHOWN)))
            _refuse(f"the column '{name}' has words ({shown})", "name columns with numbers in values=")
    _refuse_doubles(rows, identifying, measured)
    runs = []
    for group in rows.partition_by(keys, maintain_order=True):
        first = group.row(0, named=True)
        settings = nested_settings({path: _plain(first[path]) for path in axes})
        at = pl.lit(0, pl.Int64) if step is None else pl.col(step).cast(pl.Int64)
        curves = []
        for name in measured:
            of_split, quantity = (split[name], name) if split and name in split else split_and_quantity(name)
            columns = {"split": pl.lit(of_split), "quantity": pl.lit(quantity), "value": pl.col(name).cast(pl.Float64)}
            points = group.filter(pl.col(name).is_not_null()).select(at.alias("step"), **columns)
            points = points.with_columns(trajectory=pl.lit(None, pl.String))
            curves.append(points.select("step", *(column for column in table_schema("curves") if column != "step")))
        ended, reason = "finished", None
        if status is not None:
            words = group[status].drop_nulls().unique(maintain_order=True).to_list()
            if len(words) != 1 or str(words[0]).lower() not in STATUSES:
                shown = ", ".join(map(str, words)) or "nothing"
                _refuse(f"the column '{status}' has {shown} for one run", f"write one of {', '.join(STATUSES)}")
            ended = STATUSES[str(words[0]).lower()]
            reason = None if words[0] in STATUSES.values() else str(words[0])
        run = RecordedRun(
            name=", ".join(f"{key} {value_label(_plain(first[key]))}" for key in keys),
            settings=settings,
            seed=first[seed],
            tables={"curves": pl.concat(curves)},
            steps=0 if step is None else steps,
            trained=step is None,
            done=0 if step is None else int(group[step].max()),  # type: ignore[arg-type]
            status=ended,
            reason=reason,
        )
        runs.append(run)
    return runs


def _as_frame(table: Any) -> pl.DataFrame:
    if isinstance(table, pl.LazyFrame):
        return table.collect()
    if isinstance(table, pl.DataFrame):
        return table
    if hasattr(table, "to_dict") and hasattr(table, "columns"):  # a frame of pandas, which need not be installed
        if any(name is not None for name in table.index.names):
            table = table.reset_index()
        columns = table.to_dict("list")
        # Its nullable kinds have NA, which polars does not know. A NaN stays: it may be a loss that diverged.
        table = {k: [None if type(v).__name__ == "NAType" else v for v in column] for k, column in columns.items()}
    if not isinstance(table, Mapping):
        _refuse(f"the table is {type(table).__name__}", "give a frame of polars or pandas, or columns by name")
    return pl.DataFrame({str(k): list(v) for k, v in table.items()}, strict=False, nan_to_null=False)


def _whole_numbers(rows: pl.DataFrame, name: str, what: str) -> pl.Series:
    """The column ``name`` as int64, or LabError. ``what`` is the parameter of ``from_frame`` that names it."""
    column = rows[name]
    if column.dtype == pl.String:
        numbers = column.str.strip_chars().cast(pl.Float64, strict=False)
        if numbers.null_count() > column.null_count():
            words = ", ".join(column.unique(maintain_order=True).drop_nulls().head(_ROWS_SHOWN))
            _refuse(f"the column '{name}' has words ({words})", f"number them, or give {what}= another column")
        column = numbers
    if not column.dtype.is_numeric():
        _refuse(f"the column '{name}' has {column.dtype}", f"give {what}= a column of whole numbers")
    missing = column.is_null() | column.cast(pl.Float64).is_nan()
    if missing.any():
        row = int(missing.arg_max() or 0) + 1
        _refuse(f"row {row} has no {what} in '{name}'", "leave the row out, or fill it in")
    if (column.cast(pl.Float64) % 1 != 0).any():
        _refuse(f"the column '{name}' has fractions", f"give {what}= a column of whole numbers")
    return column.cast(pl.Int64).alias(name)


def _refuse_doubles(rows: pl.DataFrame, identifying: Sequence[str], measured: Sequence[str]) -> None:
    """Raise LabError if a measured column has two numbers for one run and step.

    Several rows of one run and step are allowed where each fills gaps of the others. ``identifying`` are the columns
    that name a run and a step.
    """
    counts = rows.group_by(identifying, maintain_order=True).agg(pl.col(name).drop_nulls().len() for name in measured)
    double = counts.filter(pl.any_horizontal(pl.col(name) > 1 for name in measured))
    if double.is_empty():
        return
    first = double.row(0, named=True)
    cells = [pl.col(name).eq_missing(pl.lit(first[name], rows.schema[name])) for name in identifying]
    same = rows.filter(pl.all_horizontal(cells))
    where = ", ".join(f"{name} {value_label(_plain(first[name]))}" for name in identifying)
    others = [name for name in rows.columns if name not in (*identifying, *measured) and same[name].n_unique() > 1]
    if others:
        _refuse(f"two rows have {where}, and differ in {others[0]}", "name it in axes=")
    differing = [name for name in measured if same[name].drop_nulls().n_unique() > 1]
    if differing:
        what = f"two rows have {where}, and differ in {differing[0]} alone"
        _refuse(what, "add a column that tells them apart, and name it in axes=")
    _refuse(f"two rows have {where}, and are the same", "leave one of them out")


def _plain(value: Any) -> Json:
    """The value of a cell as JSON has it: 3.0 becomes 3, NaN becomes None, and what is no plain value its text."""
    if isinstance(value, float):
        if math.isnan(value):
            return None
        return int(value) if value.is_integer() and abs(value) < 2**53 else value
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def _refuse(what: str, remedy: str) -> NoReturn:
    raise LabError(Issue("duplicate", "from_frame", what, remedy))
