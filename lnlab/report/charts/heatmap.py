"""The shape of a heat map: rows below each other, columns beside each other, one panel a variant, one colour scale.

The scale is perceptually uniform, so that equal differences look equal. Darker means larger.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from lnlab.keys import Json
from lnlab.report.charts.altair_late import alt
from lnlab.report.charts.panels import side_by_side
from lnlab.report.charts.vega_lite import vega_lite
from lnlab.report.theme import HEATMAP_COLOURS

_WIDTH, _GAP, _COLUMNS = 780, 28, 3


@dataclass(frozen=True)
class HeatmapAxis:
    """One direction of a heat map: its title, and its first and last place."""

    title: str
    first: int
    last: int

    @property
    def scale(self) -> "alt.Scale":
        """A band for each place, without gaps."""
        return alt.Scale(domain=list(range(self.first, self.last + 1)), padding=0)

    @property
    def ticks(self) -> list[int]:
        """About six round places."""
        stride = next(n for n in (1, 2, 3, 4, 6, 12, 24, 48, 96) if (self.last - self.first) / n <= 8)
        return [n for n in range(self.first, self.last + 1) if n % stride == 0]


def heatmap_chart(
    panels: Sequence[str], columns: HeatmapAxis, rows: HeatmapAxis, title: str, top: float
) -> dict[str, Json]:
    """Squares at column ``x`` and row ``line``, coloured by ``estimate`` from 0 to ``top``. Rows count downwards.

    ``points`` holds ``panel series line x estimate low high n``.
    """
    # 60 pixels are for the labels of the axis on the left
    side = (_WIDTH - _GAP * (_COLUMNS - 1) - 60) // _COLUMNS
    legend = alt.Legend(
        title=title, titleFontWeight="normal", titleFontSize=13, gradientLength=240, tickCount=4, offset=14
    )
    stops = [top * n / (len(HEATMAP_COLOURS) - 1) for n in range(len(HEATMAP_COLOURS))]
    colour = alt.Scale(range=list(HEATMAP_COLOURS), domain=stops, interpolate="lab")
    tips = [alt.Tooltip("panel:N", title="of"), alt.Tooltip("line:O", title=rows.title)]
    tips.append(alt.Tooltip("x:O", title=columns.title))
    tips += [alt.Tooltip(f"{name}:Q", title=name, format=".3~r") for name in ("estimate", "low", "high", "n")]
    base = alt.Chart(alt.NamedData("points")).mark_rect()
    cells = base.encode(
        x=alt.X("x:O", scale=columns.scale, axis=_axis(columns)),
        y=alt.Y("line:O", scale=rows.scale, axis=_axis(rows)),
        color=alt.Color("estimate:Q", scale=colour, legend=legend),
        tooltip=tips,
    ).properties(width=side, height=side)
    chart = side_by_side(cells, panels, _COLUMNS, spacing=_GAP, padding=30)
    return {**vega_lite(chart), "usermeta": {"square": True}}


def _axis(places: HeatmapAxis) -> "alt.Axis":
    return alt.Axis(title=places.title, values=places.ticks, labelAngle=0, grid=False)
