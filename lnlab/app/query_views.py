"""Tables that a query may name in addition to the stored ones; a view is built only if the query names it.

``derived`` holds the derived quantities of all runs; ``results`` holds every measured number with the axes of the
sweep as columns and without keys.
"""

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

    from lnlab.tables import Results

_KEYS = ("run", "variant", "trajectory", "measurement")
_DESCRIBE = re.compile(r"\s*desc(?:ribe)?\s+(?:table\s+)?\"?(\w+)\"?\s*;?\s*", re.IGNORECASE)


def named_views(statement: str, results: "Results") -> "dict[str, pl.DataFrame]":
    """The views that a statement names: those whose word occurs in it; all of them for SHOW TABLES."""
    listing = re.match(r"\s*show\s+tables", statement, re.IGNORECASE)
    requested = {name for name in QUERY_VIEWS if listing or re.search(rf"\b{name}\b", statement, re.IGNORECASE)}
    return {name: QUERY_VIEWS[name](results) for name in QUERY_VIEWS if name in requested}


def described_table(statement: str) -> str | None:
    """The table of a DESCRIBE, or None for any other statement."""
    match = _DESCRIBE.fullmatch(statement)
    return None if match is None else match[1]


def column_types(frame: "pl.DataFrame") -> "pl.DataFrame":
    """``column type``: one row per column."""
    import polars as pl

    rows = [(name, str(kind)) for name, kind in frame.schema.items()]
    return pl.DataFrame(rows, {"column": pl.String, "type": pl.String}, orient="row")


def derived_view(results: "Results") -> "pl.DataFrame":
    """``run variant seed step quantity``, site columns and ``value`` of every derived quantity.

    What is measured against other variants is measured against the best of all, as a query names no reference.
    """
    import polars as pl

    from lnlab.analyse.quantities.quantity import quantities
    from lnlab.analyse.select.select import quantity_rows
    from lnlab.report.registries import FRAME_REGISTRIES

    assert FRAME_REGISTRIES  # every derived quantity is registered by importing it
    rows = quantity_rows(results, {"quantity": list(quantities.entries), "reference": "best"}).filter(
        pl.col("quantity").is_in(list(quantities.entries))
    )
    first = [name for name in ("run", "variant", "seed", "step", "quantity") if name in rows.columns]
    others = [name for name in rows.columns if name not in (*first, "value", "measurement")]
    return rows.select(*first, *others, "value")


def results_view(results: "Results") -> "pl.DataFrame":
    """Every number of sites, curves and lines: first the axes of the sweep, then ``seed step`` and the site."""
    import polars as pl

    from lnlab.analyse.select.select import QUANTITY_TABLES

    parts = [table for name in QUANTITY_TABLES if (table := results.tables.get(name)) is not None]
    rows = pl.concat(parts, how="diagonal_relaxed")
    wide = _axes(results, column_names=set(rows.columns))
    joined = rows.join(wide, on="run", how="left", maintain_order="left").drop(_KEYS, strict=False)
    axes = [name for name in wide.columns if name != "run"]
    return joined.select(*axes, *(name for name in joined.columns if name not in axes))


def _axes(results: "Results", column_names: set[str]) -> "pl.DataFrame":
    """``run`` and one column per axis, numeric where its values are; prefixed ``axis.`` where the name is in use."""
    import polars as pl

    wide = results.runs.select("run")
    for axis in results.axes["axis"].unique(maintain_order=True):
        axis_rows = results.axes.filter(pl.col("axis") == axis)
        value = "label" if axis_rows["number"].null_count() else "number"
        name = f"axis.{axis}" if axis in column_names else axis
        wide = wide.join(
            axis_rows.select("run", pl.col(value).alias(name)), on="run", how="left", maintain_order="left"
        )
    return wide


QUERY_VIEWS: "Mapping[str, Callable[[Results], pl.DataFrame]]" = {"derived": derived_view, "results": results_view}
