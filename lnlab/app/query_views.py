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


def named_views(statement: str, results: "Results") -> "dict[str, pl.DataFrame | pl.LazyFrame]":
    """The views that a statement names: those whose word occurs in it; all of them for SHOW TABLES."""
    listing = re.match(r"\s*show\s+tables", statement, re.IGNORECASE)
    requested = {name for name in QUERY_VIEWS if listing or re.search(rf"\b{name}\b", statement, re.IGNORECASE)}
    return {name: QUERY_VIEWS[name](results) for name in QUERY_VIEWS if name in requested}


def described_table(statement: str) -> str | None:
    """The table of a DESCRIBE, or None for any other statement."""
    match = _DESCRIBE.fullmatch(statement)
    return None if match is None else match[1]


def column_types(frame: "pl.DataFrame | pl.LazyFrame") -> "pl.DataFrame":
    """``column type``: one row per column."""
    import polars as pl

    rows = [(name, str(kind)) for name, kind in frame.lazy().collect_schema().items()]
    return pl.DataFrame(rows, {"column": pl.String, "type": pl.String}, orient="row")


def derived_view(results: "Results") -> "pl.DataFrame":
    """``run variant seed step quantity``, site columns and ``value`` of every derived quantity.

    What is measured against other variants is measured against the best of all, as a query names no reference.
    """
    import polars as pl

    from lnlab.analyse.select.quantity import quantities
    from lnlab.analyse.select.select import quantity_rows
    from lnlab.report.registries import FRAME_REGISTRIES

    assert FRAME_REGISTRIES  # every derived quantity is registered by importing it
    rows = quantity_rows(results, {"quantity": list(quantities.entries), "reference": "best"}).filter(
        pl.col("quantity").is_in(list(quantities.entries))
    )
    first = [name for name in ("run", "variant", "seed", "step", "quantity") if name in rows.columns]
    others = [name for name in rows.columns if name not in (*first, "value", "measurement")]
    return rows.select(*first, *others, "value")


def results_view(results: "Results") -> "pl.DataFrame | pl.LazyFrame":
    """Every number of sites, curves and lines: first the axes of the sweep, then ``seed step`` and the site.

    Of tables that are not held whole, lazily.
    """
    import polars as pl

    from lnlab.analyse.select.select import QUANTITY_TABLES
    from lnlab.store.compact import wide_axes
    from lnlab.tables import AXIS_PREFIX

    wide = wide_axes(results.axes).lazy()
    rows = pl.concat(
        (_with_axes(results, name, wide) for name in QUANTITY_TABLES if name in results.tables),
        how="diagonal_relaxed",
    )
    columns = rows.collect_schema().names()
    axes = {column: column.removeprefix(AXIS_PREFIX) for column in columns if column.startswith(AXIS_PREFIX)}
    others = [column for column in columns if column not in (*axes, *_KEYS)]
    names = {column: axis for column, axis in axes.items() if axis not in columns}
    selected = rows.select(*axes, *others).rename(names)
    return selected if results.scans else selected.collect()


def _with_axes(results: "Results", table: str, wide: "pl.LazyFrame") -> "pl.LazyFrame":
    """The rows of a table with the axes as columns, which its files have if it lies in any."""
    from lnlab.tables import AXIS_PREFIX

    if table in results.scans and any(name.startswith(AXIS_PREFIX) for name in results.scans[table].collect_schema()):
        return results.scans[table]
    return results.lazy(table).join(wide, on="run", how="left", maintain_order="left")


QUERY_VIEWS: "Mapping[str, Callable[[Results], pl.DataFrame | pl.LazyFrame]]" = {
    "derived": derived_view,
    "results": results_view,
}
