"""Charts in Vega-Lite, made from names and axes. What is drawn is read from named data sets."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from lnlab.keys import Json
from lnlab.report.charts.altair_late import alt
from lnlab.report.charts.axes import Axis
from lnlab.report.charts.end_names import EndNames, name_layers
from lnlab.report.charts.legend import legend_shape, mark_shape, series_colour
from lnlab.report.charts.panels import side_by_side
from lnlab.report.charts.series_panels import of_series, series_panels
from lnlab.report.charts.vega_lite import vega_lite
from lnlab.report.rounding import rounded
from lnlab.report.theme import MUTED_COLOUR, SeriesStyle

_WIDTH, _HEIGHT = 780, 350
_PANEL_WIDTH, _PANEL_HEIGHT, _PANEL_GAP = 350, 300, 20
"""Size and gap of the panels of spectra, two beside each other."""
_RING = 170
"""Size of the ring around the place of a printed number: our own mark, if it is there as well, stays visible."""
Rows = Sequence[Mapping[str, Json]]


def lines_chart(
    panels: Sequence[str],
    x: Axis,
    y: Axis,
    style: SeriesStyle,
    *,
    spread: Literal["band", "bars"] = "band",
    outlines: bool = False,
    dots: bool = False,
    laws: Rows = (),
    published: Rows = (),
    names: EndNames | None = None,
    apart: float = 0.0,
) -> dict[str, Json]:
    """Numbers over a numeric axis with their intervals, as a line or a row of marks for each series.

    ``points`` holds ``panel series line x estimate low high n``.

    Args:
        panels: side by side, where there are several.
        x: the positions.
        y: the numbers.
        style: of the series.
        spread: what an interval is drawn as: bands over two positions would hide each other.
        outlines: whether lines are the outlines of histograms, x being the middle of each bin.
        dots: whether each number of ``seeds``, ``panel series line x seed value``, is a faint dot.
        laws: reference lines in every panel, ``law label x y last``.
        published: what the source prints, ``series x y source``: rings, which have an entry of the legend.
        names: of the lines, at their ends. None means a legend.
        apart: how far to the right of the series before it a series stands, as a share of the axis.
    """
    legend = names is None
    base = _coloured(None if len(panels) > 1 else "points", x, style, legend=legend, apart=apart)
    if outlines:
        band = base.mark_area(opacity=0.18, interpolate="step", clip=True).encode(y=_y("low", y), y2=alt.Y2("high:Q"))
        tips = _tips(x, "estimate", "low", "high", "n")
        line = _line(base, style, interpolate="step").encode(y=_y("estimate", y), tooltip=tips)
        layers = [band, line, *_legend_layer(base, style, marks=False)]
    elif spread == "band":
        layers = [base.mark_area(opacity=0.18).encode(y=_y("low", y), y2=alt.Y2("high:Q")), _line(base, style)]
    elif dots:
        layers = [_line(base, style), base.mark_rule(strokeWidth=2).encode(y=_y("low", y), y2=alt.Y2("high:Q"))]
    else:  # of several series bars stand at one position
        layers = [
            base.mark_rule(strokeWidth=2, opacity=0.6).encode(y=_y("low", y), y2=alt.Y2("high:Q")),
            _line(base, style),
        ]
    if dots:
        points = _coloured("seeds", x, style, legend=legend, apart=apart).mark_point(size=16, opacity=0.35)
        layers = [points.encode(y=_y("value", y), tooltip=_tips(x, "seed", "value")), *layers]
    if laws:
        reference = alt.Chart(alt.InlineData(list(laws))).encode(x=_x("x", x), y=_y("y", y), detail=alt.Detail("law:N"))
        law_names = reference.transform_filter("datum.last").mark_text(
            align="left", dx=8, color=MUTED_COLOUR, fontSize=11
        )
        grey = reference.mark_line(color="#777777", strokeWidth=1, strokeDash=[3, 3])
        layers = [grey, law_names.encode(text=alt.Text("label:N")), *layers]
    if not outlines:
        marks = base.mark_point().encode(
            y=_y("estimate", y), shape=mark_shape(style), tooltip=_tips(x, "estimate", "low", "high", "n")
        )
        named = name_layers(names, x, y, series_colour(style, legend=False)) if names else _legend_layer(base, style)
        layers = [*layers, *named, marks]  # the pointer meets the marks first
    if published:
        rings = _rings(published, x, y).encode(
            color=series_colour(style, legend=legend),
            # nothing else of the drawing has a scale of opacity, so that this entry of the legend is its own
            opacity=alt.Opacity(
                "source:O",  # nominal, Vega-Lite would warn of an unsorted field
                scale=alt.Scale(range=[1]),
                legend=alt.Legend(
                    orient="bottom",  # beside the other legend it would leave a phone
                    offset=6,
                    symbolType="circle",
                    symbolFillColor="transparent",
                    symbolStrokeColor=MUTED_COLOUR,
                    symbolStrokeWidth=2,
                    symbolSize=_RING,
                ),
            ),
        )
        layers.append(rings)
    drawn = alt.layer(*layers)
    if names is not None:
        # what stands beside the panel, for the script of the page, which sets its width
        usermeta = {"usermeta": {"beside": names.width}}
        return vega_lite(drawn.properties(width=_WIDTH - names.width, height=_HEIGHT)) | usermeta
    if len(panels) < 2:
        return vega_lite(drawn.properties(width=_WIDTH, height=_HEIGHT))
    # each panel has its share of ``points``; a layer with data of its own would have all of them in every panel
    panel = drawn.properties(width=(_WIDTH - 80) // min(len(panels), 3), height=_HEIGHT, data=alt.NamedData("points"))
    return vega_lite(side_by_side(panel, panels, 3))


def line_panels(
    x: Axis,
    y: Axis,
    style: SeriesStyle,
    *,
    spread: Literal["band", "bars"] = "band",
    dots: bool = False,
    laws: Rows = (),
    published: Rows = (),
) -> dict[str, Json]:
    """As ``lines_chart``, with a panel for each series. Laws without a ``series`` are in all panels."""

    def layers_of(name: str, x: Axis, y: Axis, colour: str) -> list[Any]:
        base = alt.Chart(alt.NamedData("points")).encode(x=_x("x", x)).transform_filter(of_series(name))
        interval = base.encode(y=_y("low", y), y2=alt.Y2("high:Q"))
        layers = [
            interval.mark_area(color=colour, opacity=0.2, clip=True)
            if spread == "band"
            else interval.mark_rule(color=colour, strokeWidth=2)
        ]
        if dots:
            seeds = alt.Chart(alt.NamedData("seeds")).encode(x=_x("x", x)).transform_filter(of_series(name))
            layers.append(seeds.mark_point(color=colour, size=12, opacity=0.35).encode(y=_y("value", y)))
        if own := [law for law in laws if law.get("series", name) == name]:
            law = alt.Chart(alt.InlineData(own)).encode(x=_x("x", x), y=_y("y", y), detail=alt.Detail("law:N"))
            layers.append(law.mark_line(color="#777777", strokeWidth=1, strokeDash=[3, 3]))
            words = law.transform_filter("datum.last").mark_text(align="left", dx=4, color=MUTED_COLOUR, fontSize=9.5)
            layers.append(words.encode(text=alt.Text("label:N")))
        means = base.encode(y=_y("estimate", y))
        layers.append(means.mark_line(color=colour))
        if own := [row for row in published if row["series"] == name]:
            layers.append(_rings(own, x, y).encode(color=alt.value(colour)))
        tips = _tips(x, "estimate", "low", "high", "n")
        return [*layers, means.mark_point(color=colour, size=32).encode(tooltip=tips)]

    return series_panels(style, x, y, layers_of)


def stick_chart(x: Axis, y: Axis, style: SeriesStyle, noise: float) -> dict[str, Json]:
    """Numbers of eigenvalues, a panel for each series: a line with its band, a stick for each one that stands alone.

    ``points`` holds ``panel series line x estimate low high n marks``, the panel being the series. A stick is as high
    as one eigenvalue, or as many as stand at its place.

    Args:
        x: eigenvalues, the same axis for all.
        y: numbers of eigenvalues, likewise.
        style: of the series.
        noise: within so much of 0 an eigenvalue is rounding, and the panel is shaded.
    """
    colour = alt.Color("series:N", scale=alt.Scale(domain=list(style.series), range=list(style.colours)), legend=None)
    base = alt.Chart().encode(x=_x("x", x), color=colour)
    shade = alt.Chart(alt.InlineData([{"from": -noise, "to": noise}])).mark_rect(color=MUTED_COLOUR, opacity=0.12)
    band = base.mark_area(opacity=0.25, clip=True).encode(y=_y("low", y), y2=alt.Y2("high:Q"))
    line = base.mark_line(strokeWidth=1.6, clip=True).encode(y=_y("estimate", y))
    tips = [alt.Tooltip("x:Q", title="eigenvalue", format=".4~r"), alt.Tooltip("marks:Q", title="number")]
    sticks = base.transform_filter("datum.marks > 0").mark_rule(strokeWidth=1.2, clip=True, aria=False)
    # a stick stands on the foot of the axis: a logarithmic one has no 0
    sticks = sticks.encode(y=_y("marks", y), y2=alt.Y2Datum(y.domain[0]), tooltip=tips)
    single = len(style.series) == 1
    panel = alt.layer(shade.encode(x=_x("from", x), x2=alt.X2("to:Q")), band, line, sticks).properties(
        width=2 * _PANEL_WIDTH + _PANEL_GAP if single else _PANEL_WIDTH,
        height=_PANEL_HEIGHT,
        data=alt.NamedData("points"),
    )
    return vega_lite(panel if single else side_by_side(panel, style.series, 2, spacing=_PANEL_GAP))


def _coloured(data: str | None, x: Axis, style: SeriesStyle, *, legend: bool, apart: float) -> Any:
    """Start a chart of a named data set. None means the share of the rows that a panel has."""
    named = alt.Undefined if data is None else alt.NamedData(data)
    colour = series_colour(style, legend=legend)
    if not apart:
        return alt.Chart(named).encode(x=_x("x", x), color=colour)
    low, high = (math.log(end) if x.log else end for end in x.domain)
    place = f"(datum.line-{(len(style.series) - 1) / 2:g})*{rounded(apart * (high - low))!r}"
    at = f"datum.x*exp({place})" if x.log else f"datum.x+{place}"
    return alt.Chart(named).transform_calculate(at=at).encode(x=_x("at", x), color=colour)


def _rings(published: Rows, x: Axis, y: Axis) -> Any:
    rings = alt.Chart(alt.InlineData(list(published))).mark_point(
        shape="circle", filled=False, size=_RING, strokeWidth=2
    )
    tips = [alt.Tooltip("series:N", title="of"), alt.Tooltip("y:Q", title="printed by the source")]
    return rings.encode(x=_x("x", x), y=_y("y", y), tooltip=tips)


def _x(field: str, x: Axis) -> "alt.X":
    return alt.X(f"{field}:Q", scale=x.scale, axis=x.axis)


def _y(field: str, y: Axis) -> "alt.Y":
    return alt.Y(f"{field}:Q", scale=y.scale, axis=y.axis)


def _line(base: Any, style: SeriesStyle, **mark: str) -> Any:
    """Encode dashes by the number of a series. By its name they would share the legend of colours."""
    scale = alt.Scale(domain=list(range(len(style.series))), range=[list(dash) for dash in style.dashes])
    return base.mark_line(**mark).encode(
        y=alt.Y("estimate:Q"), strokeDash=alt.StrokeDash("line:O", scale=scale, legend=None)
    )


def _legend_layer(base: Any, style: SeriesStyle, *, marks: bool = True) -> list[Any]:
    """A layer that nobody sees: its scale of shapes is what the legend shows."""
    if len(style.series) < 2:
        return []
    return [base.mark_point(opacity=0, size=1).encode(y=alt.Y("estimate:Q"), shape=legend_shape(style, marks=marks))]


def _tips(x: Axis | None, *fields: str) -> "list[alt.Tooltip]":
    # "layer l" will do in a tip, without "(1 = next to the input)"
    at = [] if x is None else [alt.Tooltip("x:Q", title=x.title.partition(" (")[0], format="~r")]
    numbers = [alt.Tooltip(f"{name}:Q", title=name, format=".3~r") for name in fields]
    return [alt.Tooltip("series:N", title="of"), *at, *numbers]
