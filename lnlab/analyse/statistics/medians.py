"""``median |x|`` over the entries of a histogram that are not 0: by the logarithm, within the bin that holds it.

Entries that are exactly 0, most of them rows of a table that no token of the batch uses, tell of the batch and not of
the size of a gradient. Bins are a quarter of an octave wide, so that the median is known to a tenth, and better where
it moves through many of them.
"""

from typing import Any

import numpy as np
import polars as pl

from lnlab import tables
from lnlab.facts import QuantityWords
from lnlab.select.quantity import SITE, STATE, quantities
from lnlab.tables import Results


@quantities.register(
    "median_gradient_size",
    words=QuantityWords(
        "median gradient entry",
        "{nats} per {item}",
        "median absolute value of the nonzero entries of a gradient",
        "|∂L/∂{W}|",
    ),
    of=("gradient_size",),
)
def median_gradient_size(results: Results) -> pl.DataFrame:
    """``median |g|, g != 0``: the middle entry of a gradient that ``gradient_histogram`` counted (Liu et al., 2020)."""
    return _medians(results, "gradient_size", "median_gradient_size")


@quantities.register(
    "median_update_over_rate",
    words=QuantityWords(
        "median update entry over the learning rate",
        "of the learning rate",
        "median absolute value of the nonzero entries of an update, over its learning rate",
        "|Δ{W}|/η",
    ),
    of=("update_over_rate_size",),
)
def median_update_over_rate(results: Results) -> pl.DataFrame:
    """``median |Δθ|/lr, Δθ != 0``: of an update that ``update_histogram`` counted (Huang et al., 2020).

    1 at Adam's first, and 0.16 where gradients are nothing but noise (β1 = 0.9).
    """
    return _medians(results, "update_over_rate_size", "median_update_over_rate")


def histogram_median(left: np.ndarray, right: np.ndarray, count: np.ndarray) -> float:
    """The median of rising bins, interpolated in the logarithm.

    If the bin that holds it begins at 0 or below, or has no finite end, the median is that bin's upper end.
    """
    cumulative = np.cumsum(count)
    half = cumulative[-1] / 2
    index = int(np.searchsorted(cumulative, half))
    if left[index] <= 0 or not np.isfinite(right[index]):
        return float(right[index])
    share = (half - (cumulative[index] - count[index])) / count[index]
    return float(left[index] * (right[index] / left[index]) ** share)


def _medians(results: Results, stored: str, name: str) -> pl.DataFrame:
    """The median of each histogram of the quantity ``stored``, as rows of the quantity ``name``.

    Zeros are left out. A histogram of nothing else has no row.
    """
    keys = (*STATE, *SITE)
    key_types: dict[str, Any] = {column: results.runs.schema.get(column, pl.Int64) for column in STATE}
    schema = key_types | {column: tables.table_schema("histograms")[column] for column in SITE} | {"value": pl.Float64}
    table = results.tables.get("histograms", pl.DataFrame(schema=schema))
    rows = []
    if not table.is_empty():
        # Entries that are exactly 0 stand in a bin that ends there.
        bins = table.filter(pl.col("quantity") == stored, pl.col("right") > 0).sort("left")
        for key, histogram in bins.group_by(keys, maintain_order=True):
            rows.append(
                (*key, histogram_median(*(histogram[column].to_numpy() for column in ("left", "right", "count"))))
            )
    medians = pl.DataFrame(rows, schema=schema, orient="row").sort(keys)
    return medians.select(*STATE, pl.lit(name).alias("quantity"), *SITE, "value")
