"""A diagram: what stands where is no statistic, and its drawing follows from rows of its own."""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from lnlab.keys import Json
from lnlab.report.data.figure import SEED_SCHEMA, FigureData
from lnlab.report.section import Figure


@dataclass(frozen=True, kw_only=True)
class Diagram(Figure):
    """Boxes and arrows, or rows of verdicts, beside the table that says the same.

    Attributes:
        drawn: as Vega-Lite.
        log_scale: whether its numbers lie on a logarithmic axis.
    """

    drawn: Mapping[str, Json]
    statistic: None = None
    log_scale: bool = False

    def drawing(self) -> Mapping[str, Json]:
        """As it was drawn."""
        return self.drawn

    @property
    def log(self) -> bool:
        """Whether its numbers lie on a logarithmic axis."""
        return self.log_scale


def diagram_data(rows: pl.DataFrame, seeds: pl.DataFrame | None = None) -> FigureData:
    """The rows of a diagram; it reads settings or verdicts, and so no stored rows."""
    return FigureData(
        seeds=pl.DataFrame(schema=SEED_SCHEMA) if seeds is None else seeds, points=rows, missing="", rows={}
    )
