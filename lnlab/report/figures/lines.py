"""Numbers over a numeric axis: profiles over depth, numbers over sizes, one number against another, histograms."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Literal

from lnlab.keys import Json
from lnlab.report.charts.axes import Axis, linear_axis, logarithmic_axis
from lnlab.report.charts.end_names import EndNames, end_names
from lnlab.report.charts.line_charts import Rows, line_panels, lines_chart
from lnlab.report.data.figure import FigureData, finite_numbers
from lnlab.report.section import Figure
from lnlab.report.theme import MOST_PANELS, MOST_TOLD_APART

_APART, _MOST_OF_GAP = 0.012, 0.6
"""From one series to the next, as a share of the axis, and all of them, as a share of the gap to the next place."""


@dataclass(frozen=True, kw_only=True)
class Lines(Figure):
    """A line or a row of marks for each series, in panels side by side if the data have several.

    Attributes:
        x: the positions.
        y: the numbers.
        spread: what an interval is drawn as.
        outlines: whether lines are the outlines of histograms.
        laws: reference lines, ``law label x y last``, and ``series`` if they belong to one.
        published: what the source prints, ``series x y source``.
        ends: numbers in words, by series: below its name at its end, or in the caption where it has none.
    """

    x: Axis
    y: Axis
    spread: Literal["band", "bars"] = "band"
    outlines: bool = False
    laws: Rows = ()
    published: Rows = ()
    ends: Mapping[str, str] = field(default_factory=dict)

    @property
    def marks(self) -> tuple[str, str]:
        """Marks where single seeds are drawn beside them, else lines."""
        return "Marks" if self.seeds_drawn else "Lines", self.spread

    @property
    def in_panels(self) -> bool:
        """Whether there are more series than a reader tells apart, and no more than there is room for."""
        return MOST_TOLD_APART < len(self.data.names) <= MOST_PANELS and len(self.data.panels) < 2 and not self.outlines

    @property
    def apart(self) -> float:
        """How far apart the bars of two series at one place are drawn, as a share of the axis."""
        shared = self.points.group_by("panel", "x").len()["len"].max()
        if self.in_panels or self.spread != "bars" or not isinstance(shared, int) or shared < 2:
            return 0.0
        low, high = (math.log(end) if self.x.log else end for end in self.x.domain)
        places = sorted(math.log(x) if self.x.log else x for x in self.points["x"].unique())
        gaps = [(b - a) / (high - low) for a, b in pairwise(places)]
        return min([_APART, *(_MOST_OF_GAP * gap / len(self.data.names) for gap in gaps)])

    @property
    def caption(self) -> str:
        """As that of every figure, with what its drawing has no room for, or shows in a way of its own."""
        panels = "One panel per variant; grey: all others." if self.in_panels else ""
        apart = "Series at the same position are drawn side by side." if self.apart else ""
        named = self.data.names if self.names else ()
        numbers = "; ".join(f"{name}: {text}" for name, text in self.ends.items() if name not in named)
        return " ".join(filter(None, (super().caption, panels, apart, numbers and f"{numbers}.")))

    @cached_property
    def names(self) -> EndNames | None:
        """The names of the lines at their ends. None means a legend, or a panel for each line."""
        if self.in_panels or len(self.data.panels) > 1 or self.laws or self.outlines:
            return None
        return end_names(self.points, self.data.style, self.x, self.y, self.ends)

    def drawing(self) -> dict[str, Json]:
        """As ``charts.line_charts.lines_chart``, or in a panel for each series where these are many.

        Laws have their names where lines would have theirs.
        """
        if self.in_panels:
            return line_panels(
                self.x,
                self.y,
                self.data.style,
                spread=self.spread,
                dots=self.seeds_drawn,
                laws=self.laws,
                published=self.published,
            )
        return lines_chart(
            self.data.panels,
            self.x,
            self.y,
            self.data.style,
            spread=self.spread,
            outlines=self.outlines,
            dots=self.seeds_drawn,
            laws=self.laws,
            published=self.published,
            names=self.names,
            apart=self.apart,
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
