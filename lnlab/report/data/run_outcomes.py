"""How many runs of a selection ended in which way, and the numbers of each. Diverged runs rank worst."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import polars as pl

from lnlab.keys import Json
from lnlab.report.data.labels import label_series
from lnlab.report.data.series import source_rows_of
from lnlab.select.quantity import quantity_facts
from lnlab.select.rows import reference_of
from lnlab.select.select import runs_with, select_measured_rows
from lnlab.select.selection import QUANTITY_TABLES
from lnlab.specfile.references import REFERENCE
from lnlab.tables import Results

RunNumbers = dict[str, tuple[pl.DataFrame, dict[str, pl.DataFrame]]]
"""By quantity: a frame ``run value``, and the stored rows that it was computed from, by table."""


@dataclass(frozen=True)
class SeriesOutcome:
    """The runs of one series.

    Attributes:
        name: of the series.
        runs: how many there are.
        finished: how many finished.
        stopped: how many of these a rule ended before their last update.
        diverged: the updates after which each diverged run ended, in ascending order. None means unknown.
        others: how many ended in another way, or have not run.
        numbers: by quantity, the number of each run that has ended, in ascending order. That of a diverged run is
            infinite.
    """

    name: str
    runs: int
    finished: int
    stopped: int
    diverged: tuple[int | None, ...]
    others: int
    numbers: Mapping[str, tuple[float, ...]]


def labelled_runs(results: Results, where: Mapping[str, Json]) -> tuple[pl.DataFrame, list[str]]:
    """The runs of a selection with ``series`` and ``line``, ``ended`` being the updates made, and the names."""
    runs = runs_with(results, where)
    names, _, labels = label_series(results, runs, "")
    updates = pl.col("done") if "done" in runs.columns else pl.lit(None, pl.Int64)
    return runs.join(labels, on="run", maintain_order="left").with_columns(updates.alias("ended")), list(names)


def is_known_quantity(results: Results, quantity: str) -> bool:
    """Whether a quantity is stored or can be derived."""
    tables = (results.tables[name] for name in QUANTITY_TABLES if name in results.tables)
    return quantity_facts(quantity) is not None or any(quantity in table["quantity"] for table in tables)


def last_numbers(
    results: Results, runs: pl.DataFrame, quantity: str, where: Mapping[str, Json] | None = None
) -> tuple[pl.DataFrame, dict[str, pl.DataFrame]]:
    """The last number of each run, ``run value``, and the stored rows that it was computed from, by table.

    The quantity has no site. A curve is read on the validation split if it has one. ``where`` is the selection of the
    runs, which names the reference of the quantity if it has one.
    """
    reference = reference_of({**(where or {}), "quantity": quantity})
    selection = {"quantity": quantity} if reference is None else {"quantity": quantity, REFERENCE: reference}
    rows = select_measured_rows(results, selection).filter(pl.col("run").is_in(runs["run"].implode()))
    if "split" in rows.columns and "validation" in rows["split"]:
        rows = rows.filter(pl.col("split") == "validation")
    ordered = rows.sort("step", maintain_order=True).unique("run", keep="last", maintain_order=True)
    return ordered.select("run", "value"), source_rows_of(results, quantity, ordered)


def series_outcome(name: str, runs: pl.DataFrame, numbers: Mapping[str, pl.DataFrame]) -> SeriesOutcome:
    """The outcome of one series.

    Args:
        name: of the series.
        runs: its rows of ``labelled_runs``.
        numbers: by quantity, a frame ``run value``. An infinite value is the worst.
    """
    diverged = runs.filter(pl.col("status") == "diverged")
    finished = runs.filter(pl.col("status") == "finished")
    stopped = finished.filter(pl.col("ended") < pl.col("steps")).height
    ranked = {}
    for quantity, values in numbers.items():
        values_with_status = runs.select("run", "status").join(values, on="run", how="left", maintain_order="left")
        ranked[quantity] = tuple(
            # NaN has no rank: it is the worst, as divergence is
            sorted([math.inf if math.isnan(value) else value for value in values_with_status["value"].drop_nulls()])
        )
    divergence_steps = tuple(diverged["ended"].sort(nulls_last=True))
    return SeriesOutcome(
        name=name,
        runs=runs.height,
        finished=finished.height,
        stopped=stopped,
        diverged=divergence_steps,
        others=runs.height - finished.height - diverged.height,
        numbers=ranked,
    )


def merged_source_rows(numbers: RunNumbers) -> dict[str, pl.DataFrame]:
    """The stored rows behind all quantities, by table, each row once."""
    rows: dict[str, list[pl.DataFrame]] = {}
    for _, source_rows in numbers.values():
        for name, table in source_rows.items():
            rows.setdefault(name, []).append(table)
    return {name: pl.concat(tables).unique(maintain_order=True) for name, tables in rows.items()}


def median_or_none(values: Sequence[float]) -> float | None:
    """The median, or None without values. It is infinite if half of the values are."""
    if not values:
        return None
    middle = median(values)
    return math.inf if math.isnan(middle) else middle
