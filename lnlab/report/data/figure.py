"""The data of a figure, which builders in ``data`` make and a type of ``report/figures`` draws."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeGuard

import polars as pl

from lnlab.report.theme import SeriesStyle, series_style
from lnlab.seed_words import seeds_word

SEED_SCHEMA = {
    "panel": pl.String,
    "series": pl.String,
    "line": pl.Int32,
    "x": pl.Float64,
    "seed": pl.Int64,
    "value": pl.Float64,
}
POINT_SCHEMA = {
    "panel": pl.String,
    "series": pl.String,
    "line": pl.Int32,
    "x": pl.Float64,
    "estimate": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "n": pl.Int64,
}


@dataclass(frozen=True, kw_only=True)
class FigureData:
    """What a figure draws. A chart with more than lines over x adds its own fields.

    Attributes:
        seeds: as ``SEED_SCHEMA``: every number behind the figure.
        points: as ``POINT_SCHEMA``: over seeds, with an interval or a range.
        names: the series, in order.
        families: for each series, the place of its value of the first axis that varies.
        panels: the panels, in order. Empty if there is only one.
        left_out: sentences about numbers that are not drawn.
        missing: a sentence about runs that have not finished, or nothing.
        rows: the stored rows that were read, by table.
    """

    seeds: pl.DataFrame
    points: pl.DataFrame
    names: tuple[str, ...] = ()
    families: tuple[int, ...] = ()
    panels: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    missing: str
    rows: Mapping[str, pl.DataFrame]

    @property
    def style(self) -> SeriesStyle:
        """Colours, dashes and marks of the series."""
        return series_style(self.names, self.families)


def as_seeds(rows: pl.DataFrame) -> pl.DataFrame:
    """The columns of ``SEED_SCHEMA``, in their types."""
    return rows.select(pl.col(c).cast(t) for c, t in SEED_SCHEMA.items())


def merged_rows(*sources: Mapping[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """The stored rows of several sources by table, each once. Sources may have different tables."""
    names = dict.fromkeys(name for rows in sources for name in rows)
    tables = {name: [rows[name] for rows in sources if name in rows] for name in names}
    return {name: pl.concat(parts).unique(maintain_order=True) for name, parts in tables.items()}


def estimate_headings(estimate: str, low: str = "95 % low", high: str = "95 % high", n: str = "") -> dict[str, str]:
    """Headings of the numbers of ``points``."""
    return {"estimate": estimate, "low": low, "high": high, "n": n or seeds_word()}


def finite_numbers(points: pl.DataFrame, *columns: str, positive: bool = False) -> list[float]:
    """The numbers in columns that an axis can show. ``positive`` leaves the positive ones, for a logarithmic axis."""
    least = 0.0 if positive else -math.inf
    return [v for column in columns for v in points[column].drop_nulls() if least < v < math.inf]


def is_finite_number(value: float | None) -> TypeGuard[float]:
    """Whether there is a number and it is finite."""
    return value is not None and math.isfinite(value)
