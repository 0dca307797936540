"""The results of a report with the rows of runs that were computed again in place of the old ones."""

from collections.abc import Sequence

import polars as pl

from lnlab.record.locks.equivalence import OF_CONTENT, is_computed
from lnlab.record.matching import PLANNED_COLUMNS
from lnlab.tables import Results


def rows_put_in(committed: Results, computed: Results) -> Results:
    """The committed results with the rows that were computed again in place of the old ones.

    Of a run that was computed in part its later rows and its end stay. Runs keep the variant and the setting that the
    report has of them: with a default that a piece got since, today's are others, though the runs are the same.
    """
    named = committed.runs.select("run", "variant")
    order = pl.DataFrame({"run": committed.runs["run"], "_order": range(committed.runs.height)})
    extents = committed.runs.select("run", "steps").join(
        computed.runs.select("run", "steps"), on="run", how="left", suffix="_new", maintain_order="left"
    )
    extents = extents.with_columns(pl.col("steps_new").fill_null(-1))  # of a run that was not computed no update
    in_whole = extents.filter(pl.col("steps_new") == pl.col("steps"))["run"].implode()

    def in_order(rows: Sequence[pl.DataFrame]) -> pl.DataFrame:
        joined = pl.concat(rows).join(order, on="run", maintain_order="left")
        return joined.sort("_order", maintain_order=True).drop("_order")

    planned = committed.runs.select(PLANNED_COLUMNS)
    ended = computed.runs.filter(pl.col("run").is_in(in_whole)).drop(PLANNED_COLUMNS[1:])
    ended = ended.join(planned, on="run", maintain_order="left").select(committed.runs.columns)
    runs = in_order([committed.runs.filter(~pl.col("run").is_in(in_whole)), ended])
    tables = {}
    for name, rows in committed.tables.items():
        if rows.is_empty() or name not in computed.tables:
            tables[name] = rows
            continue
        numbers = [column for column, kind in rows.schema.items() if kind.is_float() or column == "count"]
        keys = [column for column in rows.columns if column not in (*numbers, *OF_CONTENT)]
        new = computed.tables[name].drop("variant").join(named, on="run", maintain_order="left")
        kept = new.join(rows.select(keys).unique(), on=keys, how="semi", nulls_equal=True)
        others = rows.join(extents, on="run", maintain_order="left")
        others = others.filter(~is_computed(others.columns)).select(rows.columns)
        tables[name] = in_order([kept.select(rows.columns), others])
    return Results(runs, committed.axes, tables, committed.evidence)
