"""The shapes of drawings: names and axes in, Vega-Lite out. What is drawn is read from named data sets."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from lnlab.keys import Json
from lnlab.report.charts.axes import Axis
from lnlab.report.charts.legend import legend_shape, mark_shape, series_colour
from lnlab.report.charts.panels import side_by_side
from lnlab.report.theme import DASHES, MUTED_COLOUR, REGION_COLOUR, TEXT_COLOUR, THEME, SeriesStyle

_WIDTH, _HEIGHT = 780, 350
_PANEL_WIDTH, _PANEL_HEIGHT, _PANEL_GAP = 350, 300, 20
"""Of spectra, two beside each other."""
_PATHS = {"✓": "M-1,0.1L-0.3,0.8L1,-0.9", "✗": "M-0.8,-0.8L0.8,0.8M-0.8,0.8L0.8,-0.8"}
_THREE, _SHORTEST = ".3~r", "~r"


def profile_chart(
    panels: Sequence[str],
    x: Axis,
    y: Axis,
    style: SeriesStyle,
    laws: Sequence[Mapping[str, Json]] = (),
    *,
    bars: bool = False,
) -> dict[str, Json]:
    """Lines with a band, one a series, over ordered positions; side by side where there are several ``panels``.

    With ``bars`` intervals are bars: bands over two positions would hide each other.

    ``points`` holds ``panel series line x estimate low high n``; ``laws``, drawn in every panel, as in ``size_chart``.
    """
    base = _coloured(None if len(panels) > 1 else "points", x, style)
    interval = (
        base.mark_rule(strokeWidth=2, opacity=0.6).encode(y=_y("low", y), y2="high:Q") if bars else _band(base, y)
    )
    layers = (*_laws(laws, x, y), interval, _line(base, style), *_marks(base, x, y, style))
    return _paneled(panels, alt.layer(*layers))


def density_chart(panels: Sequence[str], x: Axis, y: Axis, style: SeriesStyle) -> dict[str, Json]:
    """Outlines of histograms with a band, one a series, side by side where there are several ``panels``.

    ``points`` as in ``profile_chart``, x in the middle of each bin; bins are equally wide on the axis.
    """
    base = _coloured(None if len(panels) > 1 else "points", x, style)
    band = base.mark_area(opacity=0.18, interpolate="step", clip=True).encode(y=_y("low", y), y2="high:Q")
    tips = _tips(x, "estimate", "low", "high", "n")
    line = _line(base, style, interpolate="step").encode(y=_y("estimate", y), tooltip=tips)
    return _paneled(panels, alt.layer(band, line, *_legend_layer(base, style, marks=False)))


def _paneled(panels: Sequence[str], layers: Any) -> dict[str, Json]:
    """Each panel has its share of ``points``; a layer with data of its own would have all of them in every panel."""
    if len(panels) < 2:
        return _finish(layers.properties(width=_WIDTH, height=_HEIGHT))
    panel = layers.properties(width=(_WIDTH - 80) // min(len(panels), 3), height=_HEIGHT, data=alt.NamedData("points"))
    return _finish(side_by_side(panel, panels, 3))


def spectrum_chart(x: Axis, y: Axis, style: SeriesStyle) -> dict[str, Json]:
    """Densities of eigenvalues, a panel for each series: a line with its band, and a rug of those that are marked.

    ``points`` holds ``panel series line x estimate low high n marks``, the panel being the series.

    Args:
        x: eigenvalues, the same axis for all.
        y: densities, likewise.
        style: of the series.
    """
    colour = alt.Color("series:N", scale=alt.Scale(domain=list(style.series), range=list(style.colours)), legend=None)
    base = alt.Chart().encode(x=_x("x", x), color=colour)
    band = base.mark_area(opacity=0.25, clip=True).encode(y=_y("low", y), y2="high:Q")
    line = base.mark_line(strokeWidth=1.6, clip=True).encode(y=_y("estimate", y))
    tips = [alt.Tooltip("x:Q", title="eigenvalue", format=".3~r"), alt.Tooltip("marks:Q", title="number")]
    rug = base.transform_filter("datum.marks > 0").mark_tick(orient="vertical", thickness=1.4, size=11, clip=True)
    layers = alt.layer(band, line, rug.encode(y=alt.value(_PANEL_HEIGHT - 6), tooltip=tips))
    single = len(style.series) == 1
    panel = layers.properties(
        width=2 * _PANEL_WIDTH + _PANEL_GAP if single else _PANEL_WIDTH,
        height=_PANEL_HEIGHT,
        data=alt.NamedData("points"),
    )
    chart = panel if single else side_by_side(panel, style.series, 2, spacing=_PANEL_GAP)
    return _finish(chart)


def size_chart(x: Axis, y: Axis, style: SeriesStyle, laws: Sequence[Mapping[str, Json]]) -> dict[str, Json]:
    """Means with intervals over sizes, single seeds as faint dots, reference laws as thin grey lines.

    ``points`` as in ``profile_chart``, ``seeds`` holds ``panel series line x seed value``, ``laws`` holds ``law label x
    y last``.
    """
    base = _coloured("points", x, style)
    bars = base.mark_rule(strokeWidth=2).encode(y=_y("low", y), y2="high:Q")
    dots = _coloured("seeds", x, style).mark_point(size=16, opacity=0.35)
    seed_dots = dots.encode(y=_y("value", y), tooltip=_tips(x, "seed", "value"))
    layers = [*_laws(laws, x, y), seed_dots, _line(base, style), bars, *_marks(base, x, y, style)]
    return _finish(alt.layer(*layers).properties(width=_WIDTH, height=_HEIGHT))


def fitted_laws_chart(
    x: Axis, y: Axis, style: SeriesStyle, curves: Sequence[Mapping[str, Json]], laws: Sequence[str]
) -> dict[str, Json]:
    """Means with intervals, and through them each law as fitted to a series: a thin line in its colour, dashed by law.

    ``points`` as in ``profile_chart``, ``curves`` holds ``series law x y``.
    """
    base = _coloured("points", x, style)
    bars = base.mark_rule(strokeWidth=2).encode(y=_y("low", y), y2="high:Q")
    dash_legend = alt.Legend(symbolType="stroke", symbolStrokeWidth=1.4, symbolSize=400, columns=2)
    dashes = alt.Scale(domain=list(laws), range=[list(dash) for dash in DASHES[: len(laws)]])
    fitted = alt.Chart(alt.InlineData(list(curves))).encode(
        x=_x("x", x),
        y=_y("y", y),
        color=series_colour(style),
        strokeDash=alt.StrokeDash("law:N", scale=dashes, legend=dash_legend),
    )
    layers = [fitted.mark_line(strokeWidth=1.2, clip=True), bars, *_marks(base, x, y, style)]
    return _finish(alt.layer(*layers).properties(width=_WIDTH, height=_HEIGHT))


def forest_chart(names: Sequence[str], x: Axis, marks: Mapping[str, str]) -> dict[str, Json]:
    """One row a claim: the mark of its verdict, its seeds as dots, its interval as a bar, the accepted range behind.

    ``points`` holds ``series verdict estimate low high from to``, ``seeds`` holds ``series seed value``, and ``marks``
    the mark of each verdict.
    """
    labels = alt.Axis(
        title=None, labelLimit=220, labelPadding=24, grid=False, domain=False, ticks=False, labelFontSize=12
    )
    row = alt.Y("series:N", sort=list(names), axis=labels)
    base, dots = (alt.Chart(alt.NamedData(name)).encode(y=row) for name in ("points", "seeds"))
    region = base.mark_bar(color=REGION_COLOUR, height=20).encode(x=_x("from", x), x2="to:Q")
    seed_dots = dots.mark_point(color=MUTED_COLOUR, size=22, opacity=0.5)
    seed_dots = seed_dots.encode(x=_x("value", x), tooltip=_tips(None, "value"))
    bars = base.mark_rule(strokeWidth=2.4, color=TEXT_COLOUR).encode(x=_x("low", x), x2="high:Q")
    tips = _tips(None, "estimate", "low", "high")
    means = base.mark_point(color=TEXT_COLOUR, shape="diamond", size=80).encode(x=_x("estimate", x), tooltip=tips)
    verdicts = [_verdict_mark(base, word, mark) for word, mark in marks.items()]
    layers = alt.layer(region, seed_dots, bars, means, *verdicts)
    return _finish(layers.properties(width=_WIDTH - 200, height=30 * len(names)))


def _verdict_mark(base: Any, word: str, mark: str) -> Any:
    """The mark of a verdict between its label and the axis; fonts lack some, and those are drawn."""
    rows = base.transform_filter(alt.datum.verdict == word).encode(x=alt.value(-13))
    if mark in _PATHS:
        return rows.mark_point(shape=_PATHS[mark], filled=False, size=60, strokeWidth=1.6, color=TEXT_COLOUR)
    return rows.mark_text(text=mark, fontSize=12, baseline="middle", color=TEXT_COLOUR)


def _data(name: str | None) -> Any:
    """A named data set; None for that of the panels."""
    return alt.Undefined if name is None else alt.NamedData(name)


def _coloured(data: str | None, x: Axis, style: SeriesStyle) -> Any:
    return alt.Chart(_data(data)).encode(x=_x("x", x), color=series_colour(style))


def _x(field: str, x: Axis) -> alt.X:
    return alt.X(f"{field}:Q", scale=x.scale, axis=x.axis)


def _y(field: str, y: Axis) -> alt.Y:
    return alt.Y(f"{field}:Q", scale=y.scale, axis=y.axis)


def _band(base: Any, y: Axis) -> Any:
    return base.mark_area(opacity=0.18).encode(y=_y("low", y), y2="high:Q")


def _line(base: Any, style: SeriesStyle, **mark: str) -> Any:
    """Dashes go by the number of a series: by its name, they would share the legend of colours that they must not."""
    scale = alt.Scale(domain=list(range(len(style.series))), range=[list(dash) for dash in style.dashes])
    return base.mark_line(**mark).encode(y="estimate:Q", strokeDash=alt.StrokeDash("line:O", scale=scale, legend=None))


def _marks(base: Any, x: Axis, y: Axis, style: SeriesStyle) -> list[Any]:
    """What the legend shows, and marks that tell their numbers."""
    tips = _tips(x, "estimate", "low", "high", "n")
    marks = base.mark_point().encode(y=_y("estimate", y), shape=mark_shape(style), tooltip=tips)
    return [*_legend_layer(base, style), marks]  # the pointer meets the marks first


def _legend_layer(base: Any, style: SeriesStyle, *, marks: bool = True) -> list[Any]:
    """A layer that nobody sees: its scale of shapes is what the legend shows."""
    if len(style.series) < 2:
        return []
    return [base.mark_point(opacity=0, size=1).encode(y="estimate:Q", shape=legend_shape(style, marks=marks))]


def _tips(x: Axis | None, *fields: str) -> list[alt.Tooltip]:
    at = [] if x is None else [alt.Tooltip("x:Q", title=x.title.partition(" (")[0], format=_SHORTEST)]
    numbers = [alt.Tooltip(f"{name}:Q", title=name, format=_THREE) for name in fields]
    return [alt.Tooltip("series:N", title="of"), *at, *numbers]


def _laws(laws: Sequence[Mapping[str, Json]], x: Axis, y: Axis) -> list[Any]:
    if not laws:
        return []
    base = alt.Chart(alt.InlineData(list(laws))).encode(x=_x("x", x), y=_y("y", y), detail="law:N")
    line = base.mark_line(color="#777777", strokeWidth=1, strokeDash=[3, 3])
    last = base.transform_filter("datum.last")
    return [line, last.mark_text(align="left", dx=8, color=MUTED_COLOUR, fontSize=11).encode(text="label:N")]


def _finish(chart: Any) -> dict[str, Json]:
    spec: dict[str, Json] = chart.to_dict()
    return {**spec, "config": dict(THEME)}
