"""Which quantities were measured. All others are derived, by modules that this one does not import."""

from collections.abc import Collection

import polars as pl

from lnlab.select.selection import QUANTITY_TABLES
from lnlab.specfile.columns import CURVES_OF_TRAINING
from lnlab.tables import Results


def measured_quantities(results: Results, names: Collection[str]) -> set[str]:
    """The quantities among ``names`` that training or an evaluation records, or of which some table has rows."""
    known = set(CURVES_OF_TRAINING.intersection(names))
    for table in QUANTITY_TABLES:
        if table in results.tables and (others := set(names) - known):
            quantity = pl.col("quantity")
            named = quantity.is_in(others)
            scan = results.scans.get(table)
            rows = results.tables[table].lazy().filter(named) if scan is None else scan(named, exact=False)
            known |= set(rows.select(quantity.unique()).collect(engine="streaming")["quantity"])
    return known
