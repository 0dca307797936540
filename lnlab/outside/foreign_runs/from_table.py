"""A table that something else has written, as runs: one row a run, or one or more a run and step."""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import polars as pl

from lnlab.errors import LabError, nearest
from lnlab.issues import Issue
from lnlab.keys import Json
from lnlab.outside.foreign_runs.cells import typed_frames, words_among_numbers
from lnlab.outside.foreign_runs.runs import RecordedRun
from lnlab.outside.foreign_runs.settings import nested_settings, split_and_quantity
from lnlab.specfile.values import value_label
from lnlab.tables import ENDED_STATUSES, table_schema
from lnlab.user_tables import refuse_many

STATUSES = {
    **dict.fromkeys(("finished", "completed", "complete", "success"), "finished"),
    **dict.fromkeys(("diverged", "nan"), "diverged"),
    **dict.fromkeys(("failed", "fail", "crashed", "pruned"), "failed"),
    **dict.fromkeys(("killed", "running", "interrupted", "scheduled", "waiting", "preempted"), "interrupted"),
    "timed_out": "timed_out",
    "out_of_memory": "out_of_memory",
}
"""Words of trackers for how a run ended, and lnlab's."""
_STATUS_COLUMNS = ("status", "state", "State")
"""Columns in which MLflow, Optuna and Weights & Biases keep these words."""
_ROWS_SHOWN = 3
_TOO_LONG = ("numbers", "from_frame", "keep every tenth step, or name fewer columns in values=")
_NAME, _STEP, _VALUE = "\0name", "\0step", "\0value"
"""Columns of the long table, called as no column is."""


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
    cluster: str | None = None,
    unit: str | None = None,
) -> list[RecordedRun]:
    """The runs of a table. The arguments are those of ``lnlab.from_frame``.

    Raises:
        LabError: a column is missing or has words among numbers, a row has no seed or no step, or two rows are of one
            run and step and contradict each other.
    """
    if unit is not None and not re.fullmatch(r"[^\W\d_]+([ -][^\W\d_]+)*", unit):
        _refuse(f"the unit is {unit!r}", "write what one replicate is called, such as document")
    rows = _as_frame(table)
    keys = [*axes, seed]
    identifying = [*keys, *([step] if step else [])]
    roles = [*identifying, *(name for name in (status, cluster) if name)]
    if twice := [name for name, count in Counter([*roles, *(values or ())]).items() if count > 1]:
        _refuse(f"the column '{twice[0]}' is named twice", "give it one place: axes, seed, step, status or values")
    for name in (*roles, *(values or ()), *(split or {})):
        if name not in rows.columns:
            more = "; where runs have none, number those of each setting"
            _refuse(f"there is no column '{name}'", nearest(name, rows.columns) + more * (name == seed))
    if rows.is_empty():
        _refuse("the table has no rows", "give one a run, or one a run and step")
    refuse_many(rows.height * max(len(values or ()), 1), *_TOO_LONG)
    rows = typed_frames([rows], [""], None)[0]
    rows = rows.with_columns(_whole_numbers(rows, seed, "seed"))
    if step is not None:
        rows = rows.with_columns(_whole_numbers(rows, step, "step"))
    if status is None:
        named = [name for name in _STATUS_COLUMNS if name in rows.columns and name not in (*roles, *(values or ()))]
        status = next((name for name in named if _tells_endings(rows[name])), None)
    if cluster is not None:
        _refuse_several_clusters(rows, seed, cluster)
    measured = _measured(rows, keys, [*identifying, status, cluster], values, over_steps=step is not None)
    refuse_many(rows.height * len(measured), *_TOO_LONG)
    rows = _joined(rows, identifying, measured, others=values is None)
    names = _splits_and_quantities(measured, split or {})
    runs = []
    for group in rows.partition_by(keys, maintain_order=True):
        first = group.row(0, named=True)
        ended, reason = ("finished", None) if status is None else _ending(group[status])
        run = RecordedRun(
            name=_where(first, keys),
            settings=nested_settings({path: _plain(first[path]) for path in axes}),
            seed=first[seed],
            # Without a step a number is that of the run's end, to which some did not come.
            tables={"curves": _curves(group if step or ended in ENDED_STATUSES else group.clear(), names, step)},
            steps=0 if step is None else steps,
            trained=step is None,
            done=0 if step is None else int(group[step].max()),  # type: ignore[arg-type]
            status=ended,
            reason=reason,
            unit=unit,
            cluster=None if cluster is None else value_label(_plain(first[cluster])),
        )
        runs.append(run)
    return runs


def _as_frame(table: Any) -> pl.DataFrame:
    if isinstance(table, pl.LazyFrame):
        return table.collect()
    if isinstance(table, pl.DataFrame):
        return table
    if hasattr(table, "to_dict") and hasattr(table, "columns"):  # a frame of pandas, which need not be installed
        names = list(table.columns)
        if twice := [name for name in names if names.count(name) > 1]:
            _refuse(f"the table has two columns '{twice[0]}'", "rename one of them")
        if any(name is not None for name in table.index.names):
            table = table.reset_index()
        columns = table.to_dict("list")
        # Its nullable kinds have NA, which polars does not know. A NaN stays: it may be a loss that diverged.
        table = {k: [None if type(v).__name__ == "NAType" else v for v in column] for k, column in columns.items()}
    try:
        if hasattr(table, "__arrow_c_stream__"):
            return pl.DataFrame(table)
        if isinstance(table, Mapping):
            return pl.DataFrame({str(k): list(v) for k, v in table.items()}, strict=False, nan_to_null=False)
    except (pl.exceptions.PolarsError, TypeError, ValueError) as error:
        reason = " ".join(str(error).split())[:120]
        _refuse(f"the table cannot be read: {reason}", "give columns of one length, with numbers and words")
    return _refuse(f"the table is {type(table).__name__}", "give a frame of polars or pandas, or columns by name")


def _whole_numbers(rows: pl.DataFrame, name: str, what: str) -> pl.Series:
    """The column ``name`` as int64, or LabError. ``what`` is the parameter of ``from_frame`` that names it."""
    column = rows[name]
    if column.dtype == pl.String:
        words = ", ".join(column.unique(maintain_order=True).drop_nulls().head(_ROWS_SHOWN))
        _refuse(f"the column '{name}' has words ({words})", f"number them, or give {what}= another column")
    if not column.dtype.is_numeric() and column.dtype != pl.Null:
        _refuse(f"the column '{name}' has {column.dtype}", f"give {what}= a column of whole numbers")
    missing = column.is_null() | column.cast(pl.Float64).is_nan()
    if missing.any():
        row = int(missing.arg_max() or 0) + 1
        _refuse(f"row {row} has no {what} in '{name}'", "leave the row out, or fill it in")
    if (column.cast(pl.Float64) % 1 != 0).any():
        _refuse(f"the column '{name}' has fractions", f"give {what}= a column of whole numbers")
    whole = column.cast(pl.Int128, strict=False)
    beyond = ~whole.is_between(-(2**63), 2**63 - 1).fill_null(value=False)
    if beyond.any():
        row = int(beyond.arg_max() or 0)
        _refuse(f"row {row + 1} has {what} {column[row]}, which is beyond 2^63 - 1", "number them 1, 2, 3, ...")
    return whole.cast(pl.Int64).alias(name)


def _refuse_several_clusters(rows: pl.DataFrame, seed: str, cluster: str) -> None:
    """Raise LabError if a replicate has no cluster, or two."""
    found = rows.group_by(seed, maintain_order=True).agg(pl.col(cluster).unique())
    for number, names in found.filter(pl.col(cluster).list.len().ne(1) | pl.col(cluster).list.contains(None)).rows():
        shown = ", ".join(value_label(_plain(name)) for name in names)
        _refuse(f"{seed} {number} has the clusters {shown} in '{cluster}'", "give each replicate one, in all runs")


def _tells_endings(column: pl.Series) -> bool:
    return column.dtype == pl.String and set(column.drop_nulls().str.to_lowercase()) <= STATUSES.keys()


def _ending(column: pl.Series) -> tuple[str, str | None]:
    """How a run ended, and the word for it where it is not lnlab's."""
    words = column.drop_nulls().unique(maintain_order=True).to_list()
    if len(words) != 1 or str(words[0]).lower() not in STATUSES:
        shown = ", ".join(map(str, words)) or "nothing"
        _refuse(f"the column '{column.name}' has {shown} for one run", f"write one of {', '.join(STATUSES)}")
    ended = STATUSES[str(words[0]).lower()]
    return ended, None if words[0] in STATUSES.values() else str(words[0])


def _measured(
    rows: pl.DataFrame,
    keys: Sequence[str],  # the axes, and last the seed
    roles: Sequence[str | None],
    values: Sequence[str] | None,
    *,
    over_steps: bool,
) -> list[str]:
    """The columns with numbers that were measured: those that are named, else all that are no settings.

    A setting stands in every row of a run, and is the same for all its steps and seeds. A number that stands at some
    steps alone was measured there.
    """
    schema = rows.schema
    named = list(values or (name for name in schema if name not in roles))
    for name in named:
        kind = schema[name]
        if kind == pl.String:
            flaw = next(words_among_numbers(rows[name]), None)
            if flaw is None and values:
                words = rows[name].is_not_null()
                flaw = int(words.arg_max() or 0) + 1, rows[name].filter(words)[0]
            if flaw is not None:
                row, word = flaw
                where = _where(rows.row(row - 1, named=True), keys)
                what = f"the column '{name}' has the word '{word}' in row {row} ({where})"
                _refuse(what, "write a number, nan, or nothing; or name the columns with numbers in values=")
        elif values and not (kind.is_numeric() or kind in (pl.Boolean, pl.Null)):
            _refuse(f"the column '{name}' has {kind}", "name columns with numbers in values=")
    if values:
        return named
    numeric = [name for name in named if schema[name].is_numeric()]
    if over_steps and rows.height > rows.select(keys).n_unique():
        variants = rows.group_by(list(keys[:-1]) or pl.lit(0))
        kinds = variants.agg(pl.col(name).drop_nulls().n_unique() for name in numeric)
        gaps = rows.group_by(keys).agg(pl.col(name).null_count().is_between(1, pl.len() - 1) for name in numeric)
        lost = {name for name in numeric if rows[name].cast(pl.Float64).is_nan().any()}  # of runs that diverged at once
        varies = {name for name in numeric if int(kinds[name].max() or 0) > 1}  # type: ignore[arg-type]
        numeric = [name for name in numeric if name in varies | lost or gaps[name].any()]
    if not numeric:
        _refuse("no column has numbers that vary", "name those that were measured in values=")
    return numeric


def _joined(rows: pl.DataFrame, identifying: Sequence[str], measured: Sequence[str], *, others: bool) -> pl.DataFrame:
    """One row a run and step: several are joined where each column has one value, or gaps.

    Args:
        rows: of the table.
        identifying: the columns that name a run and a step.
        measured: those with its numbers.
        others: whether a further column tells rows apart, too.

    Raises:
        LabError: rows of one run and step contradict each other, or are the same.
    """
    if not rows.select(identifying).is_duplicated().any():
        return rows
    if (same := rows.is_duplicated()).any():
        where = _where(rows.filter(same).row(0, named=True), identifying)
        _refuse(f"two rows have {where}, and are the same", "leave one of them out")
    groups = rows.group_by(identifying, maintain_order=True)
    checked = [name for name in rows.columns if name not in identifying and (others or name in measured)]
    counts = groups.agg(pl.col(name).drop_nulls().n_unique() for name in checked)
    contradicted = counts.filter(pl.max_horizontal(checked) > 1)
    if contradicted.is_empty():
        return groups.agg(pl.col(name).drop_nulls().first() for name in rows.columns if name not in identifying)
    first = contradicted.row(0, named=True)
    two_rows = f"two rows have {_where(first, identifying)}, and differ in"
    differing = [name for name in checked if first[name] > 1]
    if settings := [name for name in differing if name not in measured]:
        _refuse(f"{two_rows} {settings[0]}", "name it in axes=, or the columns with numbers in values=")
    remedy = "name what tells them apart in axes=, or the other columns in values="
    return _refuse(f"{two_rows} {', '.join(differing[:_ROWS_SHOWN])}", remedy)


def _where(cells: Mapping[str, Any], names: Sequence[str]) -> str:
    return ", ".join(f"{name} {value_label(_plain(cells[name]))}" for name in names)


def _splits_and_quantities(names: Sequence[str], split: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """By column its split and quantity. Where two columns would be one, each is called by its own name."""
    roles = {name: (split[name], name) if name in split else split_and_quantity(name) for name in names}
    counts = Counter(roles.values())
    return {name: (of, quantity if counts[of, quantity] == 1 else name) for name, (of, quantity) in roles.items()}


def _curves(group: pl.DataFrame, names: Mapping[str, tuple[str, str]], step: str | None) -> pl.DataFrame:
    """The numbers of a run as rows of ``curves``."""
    at = pl.lit(0, pl.Int64) if step is None else group[step]
    points = (
        group.select(pl.col(list(names)).cast(pl.Float64), at.alias(_STEP))
        .unpivot(index=_STEP, variable_name=_NAME, value_name=_VALUE)
        .drop_nulls(_VALUE)
    )
    words = {"split": {n: of for n, (of, _) in names.items()}, "quantity": {n: q for n, (_, q) in names.items()}}
    return points.select(
        pl.col(_STEP).alias("step"),
        pl.lit(None, pl.String).alias("trajectory"),
        *(pl.col(_NAME).replace_strict(words[w], return_dtype=pl.String).alias(w) for w in words),
        pl.col(_VALUE).alias("value"),
    ).select("step", *(column for column in table_schema("curves") if column != "step"))


def _plain(value: Any) -> Json:
    """The value of a cell as JSON has it: 3.0 becomes 3, NaN becomes None, and what is no plain value its text."""
    if isinstance(value, float):
        if math.isnan(value):
            return None
        return int(value) if value.is_integer() and abs(value) < 2**53 else value
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def _refuse(what: str, remedy: str) -> NoReturn:
    raise LabError(Issue("duplicate", "from_frame", what, remedy))
