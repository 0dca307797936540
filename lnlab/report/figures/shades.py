"""Numbers as shades of cells, darker for larger ones, in one panel or in one for each variant."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lnlab.keys import Json
from lnlab.report.charts.heatmap import HeatmapAxis, heatmap_chart
from lnlab.report.charts.histogram_over_steps import histogram_chart
from lnlab.report.charts.value_matrix import matrix_chart
from lnlab.report.section import Figure


@dataclass(frozen=True, kw_only=True)
class Heatmap(Figure):
    """A panel for each variant, on one colour scale from 0. ``line`` counts downwards, and ``x`` to the right.

    Attributes:
        title: of the colours.
        rows: what ``line`` is called.
        columns: what ``x`` is called.
    """

    title: str
    rows: str
    columns: str

    @property
    def marks(self) -> tuple[str, str]:
        """Cells, which show no spread."""
        return "Cells", ""

    def drawing(self) -> dict[str, Json]:
        """As ``charts.heatmap.heatmap_chart``."""
        rows, columns = (
            HeatmapAxis(title, int(self.points[name].min()), int(self.points[name].max()))  # type: ignore[arg-type]
            for title, name in ((self.rows, "line"), (self.columns, "x"))
        )
        return heatmap_chart(self.data.panels, columns, rows, self.title, max(self.points["estimate"].to_list()))


@dataclass(frozen=True, kw_only=True)
class HistogramsOverSteps(Figure):
    """A panel for each variant: steps to the right, rows of octaves upwards, the median of each step as a line.

    Attributes:
        title: of the magnitudes.
        octaves: in a row.
        medians: by ``panel|x``, the median as a power of two.
    """

    title: str
    octaves: int
    medians: Mapping[str, float]

    @property
    def marks(self) -> tuple[str, str]:
        """Shades, which show no spread."""
        return "Shades", ""

    def drawing(self) -> dict[str, Json]:
        """As ``charts.histogram_over_steps.histogram_chart``."""
        rows = (int(self.points["line"].min()), int(self.points["line"].max()))  # type: ignore[arg-type]
        top = max(self.points["estimate"].to_list())
        return histogram_chart(self.data.panels, self.title, rows, self.octaves, top, self.medians)


@dataclass(frozen=True, kw_only=True)
class ValueMatrix(Figure):
    """Numbers on shades, rows by columns.

    Attributes:
        row_names: downwards.
        column_names: to the right.
        title: of the columns.
    """

    row_names: Sequence[str]
    column_names: Sequence[str]
    title: str

    @property
    def marks(self) -> tuple[str, str]:
        """Cells, which show no spread."""
        return "Cells", ""

    def drawing(self) -> dict[str, Json]:
        """As ``charts.value_matrix.matrix_chart``."""
        return matrix_chart(
            self.row_names, self.column_names, self.title, self.points["estimate"].drop_nulls().to_list()
        )
