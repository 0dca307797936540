"""Why a selection takes nothing: which of its conditions leaves nothing, and what there was to take."""

from lnlab.analyse.select.quantity import quantities, quantity_fact
from lnlab.analyse.select.select import (
    QUANTITY_TABLES,
    Selection,
    narrow_rows,
    quantity_rows,
    runs_with,
    steps_first,
)
from lnlab.analyse.select.settings import settings_of
from lnlab.errors import Problem, nearest
from lnlab.tables import Results


def why_empty(results: Results, selection: Selection) -> Problem:
    """Which condition of a selection leaves nothing, and what there was to take."""
    rows = quantity_rows(results, selection)
    if (needs := quantity_fact(selection, "needs")) and not runs_with(results, selection).is_empty():
        return Problem("quantity", f"'{selection['quantity']}' is not there for these runs", f"it needs {needs}")
    if rows.is_empty():
        tables = [results.tables[name] for name in QUANTITY_TABLES if name in results.tables]
        return _nothing_called(selection, {name for table in tables for name in table["quantity"].unique()})
    for key, condition in steps_first(selection):
        before = rows
        rows = narrow_rows(results, rows, key, condition)
        if rows.is_empty():
            values = settings_of(results).with_columns(before, [key])[key].unique().to_list()
            present = sorted({f"{v:g}" if isinstance(v, float) else str(v) for v in values if v is not None})
            return Problem(key, f"no row has {condition!r}", f"there is {', '.join(present) or 'nothing but null'}")
    raise ValueError("found rows, expected an empty selection")


def _nothing_called(selection: Selection, stored: set[str]) -> Problem:
    """Why there is no row of a quantity: there is none of that name, or none of what it is derived from."""
    name = selection.get("quantity")
    if parts := [part for part in quantity_fact(selection, "of") or () if part not in stored]:
        missing = ", ".join(f"'{part}'" for part in parts)
        return Problem("quantity", f"'{name}' is derived from {missing}, which was not measured", "measure that, too")
    if name in quantities.entries:
        return Problem("quantity", f"there is nothing that '{name}' could be derived from", nearest("", stored))
    return Problem("quantity", f"nothing measured is called {name!r}", nearest("", stored | set(quantities.entries)))
