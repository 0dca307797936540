"""More series than a reader tells apart, in a panel each: its own line in colour, all others in grey behind it."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from lnlab.keys import Json
from lnlab.report.charts.altair_late import alt
from lnlab.report.charts.axes import Axis
from lnlab.report.charts.legend import quoted
from lnlab.report.charts.vega_lite import vega_lite
from lnlab.report.theme import TEXT_COLOUR, SeriesStyle

_COLUMNS, _WIDTH, _HEIGHT, _GAP = 4, 146, 124, 14
_GREY = "#c4c4c4"
_TITLE_SIZE = 12


def series_panels(
    style: SeriesStyle, x: Axis, y: Axis, layers_of: Callable[[str, Axis, Axis, str], Sequence[Any]]
) -> dict[str, Json]:
    """A panel for each series, wrapped to the page. ``points`` holds ``series x estimate``.

    Args:
        style: of all series.
        x: of all panels.
        y: of all panels. Its title stands above the first one.
        layers_of: what a panel shows of a series with this name, on these axes, in this colour.
    """
    across, up = replace(x, epoch=0.0, title=x.title.partition(",")[0]), replace(y, title="")
    everyone = alt.Chart(alt.NamedData("points")).mark_line(color=_GREY, strokeWidth=0.8, clip=True, aria=False)
    behind = everyone.encode(
        x=alt.X("x:Q", scale=across.scale, axis={**across.axis, "titleFontSize": 11, "labelOverlap": True}),
        y=alt.Y("estimate:Q", scale=up.scale, axis=up.axis),
        detail=alt.Detail("line:N"),
    )
    panels = [
        alt.layer(behind, *layers_of(name, across, up, colour)).properties(
            width=_WIDTH,
            height=_HEIGHT,
            title=alt.TitleParams(
                name, anchor="start", frame="group", fontSize=_TITLE_SIZE, fontWeight="normal", limit=_WIDTH + 30
            ),
        )
        for name, colour in zip(style.series, style.colours, strict=True)
    ]
    title = alt.TitleParams(y.title, anchor="start", fontSize=13, fontWeight="normal", color=TEXT_COLOUR, offset=10)
    return vega_lite(alt.concat(*panels, columns=_COLUMNS, spacing=_GAP, title=title))


def of_series(name: str) -> str:
    """The filter that leaves the rows of one series."""
    return f"datum.series === {quoted(name)}"
