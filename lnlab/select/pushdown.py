"""What of a selection can be asked of files before their rows are read, so that memory holds no other rows.

A condition here takes all rows that the selection takes, and maybe more; the selection itself is applied to them.
"""

from collections.abc import Mapping

import polars as pl

from lnlab.keys import Json
from lnlab.select.early_stops import stopped_early
from lnlab.specfile.columns import LAST
from lnlab.tables import Results


def condition_of_files(
    results: Results, table: str, measured: pl.Expr, selection: Mapping[str, Json], variants: list[str] | None
) -> pl.Expr:
    """The rows of a table in files that a selection may take.

    Args:
        results: of the experiment.
        table: one of its ``scans``.
        measured: the condition on the quantity.
        selection: the whole selection.
        variants: those that meet its conditions on the setting; None: they are not known.
    """
    columns = results.lazy(table).collect_schema().names()
    condition = measured
    if "split" in selection and "split" in columns:
        condition &= _is_one_of("split", selection["split"])
    steps = _listed(selection.get("step"))
    if LAST in steps:  # which step that is, runs decide that the selection leaves out
        numbers = [step for step in steps if _is_number(step)]
        return condition & pl.col("step").is_in([*numbers, *_last_steps(results, table, condition, columns)])
    if "step" in selection and all(map(_is_number, steps)):
        condition &= pl.col("step").is_in(steps)
    if variants is not None:
        condition &= pl.col("variant").is_in(variants)
    if "layer" not in selection and "seed" in selection:  # the last layer is that of all seeds
        condition &= _is_one_of("seed", selection["seed"])
    return condition


def _last_steps(results: Results, table: str, condition: pl.Expr, columns: list[str]) -> list[int]:
    """Every step that is the last of some group of runs: where whole ones were measured last, or ended."""
    group = ["run", *(column for column in ("quantity", "split") if column in columns)]
    latest = results.lazy(table).filter(condition).group_by(group).agg(pl.col("step").max())
    whole = pl.col("status").eq("finished").fill_null(value=False) & ~stopped_early(results.runs)
    runs = results.runs.filter(whole).lazy().select("run", _end="steps")
    ends = latest.join(runs, on="run").group_by("_end", *group[1:]).agg(pl.col("step").max())
    steps = ends.collect(engine="streaming")["step"].to_list()
    return sorted({*steps, *results.runs["steps"].to_list()})


def _is_one_of(column: str, condition: Json) -> pl.Expr:
    """Whether a column has one of the values; where they are not plain ones, true."""
    values = _listed(condition)
    words = all(isinstance(value, str) for value in values)
    return pl.col(column).is_in(values) if words or all(map(_is_number, values)) else pl.lit(value=True)


def _listed(value: Json) -> list[Json]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _is_number(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
