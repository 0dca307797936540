"""Numbers over a numeric axis: profiles over depth, numbers over sizes, one number against another, histograms."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from lnlab.keys import Json
from lnlab.report.charts.axes import Axis, linear_axis, logarithmic_axis
from lnlab.report.charts.end_names import end_names
from lnlab.report.charts.line_charts import Rows, lines_chart
from lnlab.report.data.figure import FigureData, finite_numbers
from lnlab.report.section import Figure


@dataclass(frozen=True, kw_only=True)
class Lines(Figure):
    """A line or a row of marks for each series, in panels side by side if the data have several.

    Attributes:
        x: the positions.
        y: the numbers.
        spread: what an interval is drawn as.
        outlines: whether lines are the outlines of histograms.
        laws: reference lines, ``law label x y last``.
        fits: laws fitted to each series, ``series law x y``. They replace the line through the marks.
        fitted: the names of these laws.
    """

    x: Axis
    y: Axis
    spread: Literal["band", "bars"] = "band"
    outlines: bool = False
    laws: Rows = ()
    fits: Rows = ()
    fitted: Sequence[str] = ()

    @property
    def marks(self) -> tuple[str, str]:
        """Marks where single seeds or fitted laws are drawn beside them, else lines."""
        return "Marks" if self.seeds_drawn or self.fitted else "Lines", self.spread

    def drawing(self) -> dict[str, Json]:
        """As ``charts.line_charts.lines_chart``. Laws have their names where lines would have theirs."""
        beside = len(self.data.panels) < 2 and not (self.laws or self.fits or self.outlines)
        return lines_chart(
            self.data.panels,
            self.x,
            self.y,
            self.data.style,
            spread=self.spread,
            outlines=self.outlines,
            dots=self.seeds_drawn,
            laws=self.laws,
            fits=self.fits,
            fitted=self.fitted,
            names=end_names(self.points, self.data.style, self.x, self.y) if beside else None,
        )


def value_axis(
    title: str, data: FigureData, *, log: bool, beside: Iterable[float] = (), seeds_drawn: bool = False
) -> Axis:
    """An axis over the means, or the single seeds, over their intervals, and over the numbers drawn ``beside`` them."""
    drawn = data.seeds["value"] if seeds_drawn else finite_numbers(data.points, "estimate")
    values = [*drawn, *finite_numbers(data.points, "low", "high"), *beside]
    if log:
        return logarithmic_axis(f"{title} (log scale)", [value for value in values if value > 0])
    return linear_axis(title, values)
