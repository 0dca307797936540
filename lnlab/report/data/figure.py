"""The data of a figure, which builders in ``data`` make and sections draw; and the section that follows from them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import polars as pl

from lnlab.keys import Json
from lnlab.report.data.downsample import thin_points
from lnlab.report.section import Chart, Section, Table
from lnlab.report.theme import SeriesStyle, series_style
from lnlab.report.words.quantity_words import quantity_name

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
    """What a figure draws; a chart with more than lines over x adds its own fields.

    Attributes:
        seeds: as ``SEED_SCHEMA``: every number behind the figure.
        points: as ``POINT_SCHEMA``: over seeds, with an interval or a range.
        names: the series, in order.
        families: for each series, the place of its value of the first axis that varies.
        panels: the panels, in order; none where there is only one.
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

    def chart(
        self,
        spec: Mapping[str, Json],
        headings: Mapping[str, str],
        *,
        alt: str,
        caption: str,
        log: bool = False,
        statistic: Literal["mean", "median"] = "mean",
        seeds_drawn: bool = False,
    ) -> Chart:
        """The drawing with its data; the caption also says what is left out and thinned.

        Args:
            spec: Vega-Lite that reads ``points``.
            headings: as in ``Chart``.
            alt: the drawing in words.
            caption: what, units and statistic.
            log: whether means and intervals were taken on the logarithmic scale.
            statistic: over seeds.
            seeds_drawn: whether each of ``seeds`` has a mark.
        """
        thinned = thin_points(self.seeds if seeds_drawn else self.points)[1]
        return Chart(
            spec=spec,
            points=self.points,
            seeds=self.seeds,
            headings=headings,
            alt=alt,
            caption=" ".join(filter(None, (caption, *self.left_out, thinned))),
            log=log,
            statistic=statistic,
        )

    def section(self, finding: str, *charts: Chart, tables: tuple[Table, ...] = ()) -> Section:
        """The section that shows these charts and tables."""
        return Section(finding, charts, tables, missing=self.missing, rows=self.rows)

    def empty_section(self, finding: str) -> Section:
        """The section where there is nothing to draw."""
        return Section(finding, missing=" ".join(filter(None, (self.missing, *self.left_out))), rows=self.rows)

    def unmeasured(self, quantity: str) -> Section:
        """The section of a quantity that has no number yet."""
        return self.empty_section(f"Nothing of the {quantity_name(quantity)} has been measured yet")


def as_seeds(rows: pl.DataFrame) -> pl.DataFrame:
    """The columns of ``SEED_SCHEMA``, in their types."""
    return rows.select(pl.col(c).cast(t) for c, t in SEED_SCHEMA.items())


def merged_rows(*sources: Mapping[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """The stored rows of several sources by table, each once; one may have a table that another has not."""
    names = dict.fromkeys(name for rows in sources for name in rows)
    tables = {name: [rows[name] for rows in sources if name in rows] for name in names}
    return {name: pl.concat(parts).unique(maintain_order=True) for name, parts in tables.items()}


def estimate_headings(
    estimate: str, low: str = "95 % low", high: str = "95 % high", n: str = "seeds"
) -> dict[str, str]:
    """Headings of the numbers of ``points``."""
    return {"estimate": estimate, "low": low, "high": high, "n": n}


def finite_numbers(points: pl.DataFrame, *columns: str, positive: bool = False) -> list[float]:
    """The numbers in columns that an axis can show; on a logarithmic one only the positive ones."""
    least = 0.0 if positive else -math.inf
    return [v for column in columns for v in points[column].drop_nulls() if least < v < math.inf]
