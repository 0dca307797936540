"""Spectra of a matrix: densities with a rug of the eigenvalues that are marked."""

from dataclasses import dataclass

from lnlab.keys import Json
from lnlab.report.charts.axes import Axis
from lnlab.report.charts.line_charts import spectrum_chart, stick_chart
from lnlab.report.data.spectra import Band
from lnlab.report.section import Figure

REPLICATES: dict[Band, tuple[str, str]] = {
    "seeds": ("seed", ""),
    "draws": ("start vector", " of one seed"),
    "parts": ("part", " of one seed's batches"),
}
"""What a replicate of each band is."""


@dataclass(frozen=True, kw_only=True)
class SpectrumFigure(Figure):
    """Densities of eigenvalues, with a panel for each series. ``points`` have an additional column ``marks``.

    Attributes:
        x: eigenvalues.
        y: densities.
    """

    x: Axis
    y: Axis

    def drawing(self) -> dict[str, Json]:
        """As ``charts.line_charts.spectrum_chart``."""
        return spectrum_chart(self.x, self.y, self.data.style)


@dataclass(frozen=True, kw_only=True)
class StickFigure(SpectrumFigure):
    """Numbers of eigenvalues in powers of ten, and a stick for each that stands alone.

    Attributes:
        noise: within so much of 0 an eigenvalue is rounding.
    """

    noise: float

    def drawing(self) -> dict[str, Json]:
        """As ``charts.line_charts.stick_chart``."""
        return stick_chart(self.x, self.y, self.data.style, self.noise)
