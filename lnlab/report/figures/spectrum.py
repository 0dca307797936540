"""Spectra of a matrix: numbers of eigenvalues, with a stick for each that stands alone."""

from dataclasses import dataclass

from lnlab.keys import Json
from lnlab.report.charts.axes import Axis
from lnlab.report.charts.line_charts import stick_chart
from lnlab.report.section import Figure


@dataclass(frozen=True, kw_only=True)
class StickFigure(Figure):
    """Numbers of eigenvalues in powers of ten, a panel for each series. ``points`` have an additional column ``marks``.

    Attributes:
        x: eigenvalues.
        y: numbers of eigenvalues.
        noise: within so much of 0 an eigenvalue is rounding.
    """

    x: Axis
    y: Axis
    noise: float

    def drawing(self) -> dict[str, Json]:
        """As ``charts.line_charts.stick_chart``."""
        return stick_chart(self.x, self.y, self.data.style, self.noise)
