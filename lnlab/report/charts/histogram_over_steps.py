"""Chart of histograms over steps: steps to the right, magnitudes upwards in powers of ten, darker for larger shares.

Each variant has a panel, and all panels share one colour scale. A dot marks the median of each step, and a line joins
the dots.
"""

import json
import math
from collections.abc import Mapping, Sequence

from lnlab.keys import Json
from lnlab.report.charts.altair_late import alt
from lnlab.report.charts.panels import side_by_side
from lnlab.report.charts.vega_lite import vega_lite
from lnlab.report.rounding import rounded
from lnlab.report.theme import HEATMAP_COLOURS
from lnlab.report.words.control_characters import without_control_characters
from lnlab.report.words.wording import format_number

_WIDTH, _HEIGHT, _GAP, _COLUMNS = 780, 280, 28, 3
_MEDIAN_COLOUR = "#D55E00"


def histogram_chart(
    panels: Sequence[str], title: str, rows: tuple[int, int], octaves: int, top: float, medians: Mapping[str, float]
) -> dict[str, Json]:
    """Cells of ``points``: column ``x``, row ``line`` from 2^(octaves line) on, shaded by ``estimate`` up to ``top``.

    Args:
        panels: in order.
        title: of the magnitudes, with their unit.
        rows: the first and the last.
        octaves: in a row.
        top: the largest share.
        medians: by ``panel|x``, for each a magnitude as a power of two.
    """
    stops = [top * n / (len(HEATMAP_COLOURS) - 1) for n in range(len(HEATMAP_COLOURS))]
    legend = alt.Legend(
        title="share of the elements", titleFontWeight="normal", titleFontSize=13, gradientLength=240, tickCount=4,
        format="~%", offset=14,
    )  # fmt: skip
    colour = alt.Color(
        "estimate:Q", scale=alt.Scale(range=list(HEATMAP_COLOURS), domain=stops, interpolate="lab"), legend=legend
    )
    steps = alt.Axis(title="training step t", labelAngle=0, labelOverlap=True, labelSeparation=6, grid=False)
    x = alt.X("x:O", axis=steps, scale=alt.Scale(padding=0))
    y_scale = alt.Scale(domain=[rows[0], rows[1] + 1], nice=False, zero=False)
    # ticks at about six powers of ten, at their places as the drawing has them
    low, high = (octaves * row * math.log10(2) for row in (rows[0], rows[1] + 1))
    stride = max(1, math.ceil((high - low) / 6))
    # the places of an axis count rows; a power of ten lies between them
    powers = [k for k in range(math.ceil(low), math.floor(high) + 1) if k % stride == 0]
    words = {
        rounded(k / math.log10(2) / octaves): f"{10.0**k:g}"
        if -4 <= k < 6
        else format_number(10.0**k).removeprefix("1.00 × ")
        for k in powers
    }
    cases = "".join(f"datum.value === {place!r} ? '{word}' : " for place, word in words.items())
    y_axis = alt.Axis(title=f"{title} (log scale)", values=list(words), labelExpr=f"{cases}''", grid=False)
    base = alt.Chart().encode(x=x)
    tips = [alt.Tooltip("panel:N", title="of"), alt.Tooltip("x:O", title="training step t")]
    tips += [alt.Tooltip(f"{name}:Q", title=name, format=".3~r") for name in ("estimate", "low", "high", "n")]
    cells = base.transform_calculate(end="datum.line + 1").mark_rect()
    cells = cells.encode(y=alt.Y("line:Q", scale=y_scale, axis=y_axis), y2=alt.Y2("end:Q"), color=colour, tooltip=tips)
    # as the names in the data will be, which the expression looks up
    places = {without_control_characters(key): value / octaves for key, value in medians.items()}
    medians_json = json.dumps(places, ensure_ascii=False, sort_keys=True)
    medians_base = (
        # one row a column: else the line would go through each cell of it
        base.transform_aggregate(groupby=["panel", "x"])
        .transform_calculate(median=f"({medians_json})[datum.panel + '|' + datum.x]")
        .transform_filter("isValid(datum.median)")
        .encode(y=alt.Y("median:Q", scale=y_scale))
    )
    line = medians_base.mark_line(color=_MEDIAN_COLOUR, strokeWidth=1.6, clip=True)
    dots = medians_base.mark_point(color=_MEDIAN_COLOUR, size=22, clip=True)
    columns = min(max(len(panels), 1), _COLUMNS)
    width = (_WIDTH - _GAP * (columns - 1) - 60) // columns
    panel = alt.layer(cells, line, dots).properties(width=width, height=_HEIGHT, data=alt.NamedData("points"))
    return vega_lite(side_by_side(panel, panels, _COLUMNS, spacing=_GAP, padding=30))
