"""The shape of curves over training: lines with bands, runs that diverged, a rule, and a strip of learning rates below.

Colour and the mark at a line's end tell the series apart. Dashes tell the splits apart, or the series if there is one
split.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lnlab.keys import Json
from lnlab.report.charts.altair_late import alt
from lnlab.report.charts.axes import Axis
from lnlab.report.charts.end_names import EndNames, name_layers
from lnlab.report.charts.legend import legend_shape, mark_shape, series_colour
from lnlab.report.charts.series_panels import of_series, series_panels
from lnlab.report.charts.vega_lite import vega_lite
from lnlab.report.theme import MUTED_COLOUR, PAPER_COLOUR, THEME, SeriesStyle

_WIDTH, _HEIGHT, _STRIP_HEIGHT, _GAP, _LEGEND_OFFSET = 780, 340, 84, 56, 16
_SPLITS: Mapping[str, tuple[int, ...]] = {"train": (2, 2), "validation": (1, 0), "test": (8, 3, 2, 3)}
CROSS_PATH = "M-1,-1L1,1M-1,1L1,-1"
MAX_HOVER_POINTS = 600
"""The most points that may each have an invisible mark with their numbers under the pointer."""
_MAX_BANDS = 12
"""With more lines than this, none has a band."""
_ARROW = "M0,-1L0.6,-0.2L0.15,-0.2L0.15,1L-0.15,1L-0.15,-0.2L-0.6,-0.2Z"
_Rows = Sequence[Mapping[str, Json]]


@dataclass(frozen=True)
class Overlays:
    """What is drawn over the lines and below them, as rows.

    Attributes:
        diverged: ``run panel series line x value``: runs that diverged.
        survivors: the same of runs that finished where too many of their series diverged for a mean.
        crosses: ``series x value``: where each of them ended.
        rules: ``y label left above``: levels to compare with, and on which side of them their names have room.
        batches: ``series line x estimate``: numbers of single batches, drawn faintly behind means over windows.
        cuts: ``series x value furthest``: where the axis cuts a line off at its upper end.
        rates: ``series line x estimate`` for the strip. Empty without a strip.
    """

    diverged: _Rows = ()
    survivors: _Rows = ()
    crosses: _Rows = ()
    rules: _Rows = ()
    batches: _Rows = ()
    cuts: _Rows = ()
    rates: _Rows = ()


def training_curve_chart(
    splits: Sequence[str],
    x: Axis,
    y: Axis,
    style: SeriesStyle,
    overlays: Overlays,
    *,
    hover: bool,
    single_seeds: bool = False,
    names: EndNames | None = None,
) -> dict[str, Json]:
    """Lines over training. ``points`` holds ``panel series line x estimate low high n``, ``panel`` being the split.

    Args:
        splits: those that are drawn, where there are several.
        x: updates or epochs.
        y: of the lines.
        style: of the series.
        overlays: what else is drawn.
        hover: whether every point tells its numbers.
        single_seeds: whether each seed has a thin line: where there are too few for bands.
        names: of the lines, at their ends. None means a legend.
    """
    # above a strip, which has its title and the epochs for both, the axis has neither
    upper_x = replace(x, title="", epoch=0.0) if overlays.rates else x
    legend = names is None
    clip = bool(overlays.cuts)  # clipping many lines takes as long as the rest of the drawing
    base = _base(alt.NamedData("points"), upper_x, style, legend=legend)
    layers: list[Any] = []
    if overlays.rules:
        levels = alt.Chart(alt.InlineData([{"y": rule["y"]} for rule in overlays.rules])).encode(y=_y("y", y))
        layers.append(levels.mark_rule(color="#777777", strokeWidth=1, strokeDash=[3, 3]))
    if overlays.batches:
        faint = base.properties(data=alt.InlineData(list(overlays.batches)))
        layers.append(faint.mark_line(strokeWidth=0.8, opacity=0.3, clip=True).encode(y=_y("estimate", y)))
    if has_bands(len(style.series), splits, windowed=bool(overlays.batches)):
        band = base.mark_area(fillOpacity=0.16, opacity=1, clip=True)
        layers.append(band.encode(y=_y("low", y), y2=alt.Y2("high:Q")))
    if single_seeds:
        seeds = _base(alt.NamedData("seeds"), upper_x, style, legend=legend).mark_line(
            strokeWidth=0.9, opacity=0.5, clip=clip
        )
        layers.append(seeds.encode(y=_y("value", y), detail=[alt.Detail("seed:N"), alt.Detail("panel:N")]))
    layers.append(base.mark_line(clip=clip).encode(y=_y("estimate", y), strokeDash=_dashes(splits, style)))
    cut_tips = [alt.Tooltip("series:N", title="of"), alt.Tooltip("furthest:Q", title="goes to", format=".3~r")]
    if overlays.cuts:  # where lines leave the axis, inside of it: no shape of a series looks like one
        arrows = base.properties(data=alt.InlineData(list(overlays.cuts))).mark_point(shape=_ARROW, size=90, yOffset=8)
        layers.append(arrows.encode(y=_y("value", y), tooltip=cut_tips))
    for runs, dash in ((overlays.diverged, alt.Undefined), (overlays.survivors, [4, 3])):
        if runs:
            alone = _base(alt.InlineData(list(runs)), upper_x, style, legend=legend)
            thin_line = alone.mark_line(strokeWidth=1, strokeOpacity=0.75, strokeDash=dash)
            layers.append(thin_line.encode(y=_y("value", y), detail=[alt.Detail("run:N"), alt.Detail("panel:N")]))
    if overlays.crosses:
        ends = _base(alt.InlineData(list(overlays.crosses)), upper_x, style, legend=legend)
        cross = ends.mark_point(shape=CROSS_PATH, filled=False, size=90)
        tips = [alt.Tooltip("series:N", title="of"), alt.Tooltip("told:N", title="run")]
        layers.append(cross.encode(y=_y("value", y), strokeWidth=alt.value(2), tooltip=tips))
    for rule in overlays.rules:
        named = alt.Chart(alt.InlineData([rule])).encode(
            y=_y("y", y), x=alt.datum(x.domain[0 if rule["left"] else 1], scale=x.scale), text=alt.Text("label:N")
        )
        place: dict[str, Any] = {
            "align": "left" if rule["left"] else "right",
            "baseline": "bottom" if rule["above"] else "top",
            "dx": 4 if rule["left"] else -4,
            "dy": -3 if rule["above"] else 4,
            "fontSize": 11,
        }
        # a halo keeps the name readable where a curve goes through it
        halo = named.mark_text(**place, stroke=PAPER_COLOUR, strokeWidth=3, strokeJoin="round", aria=False)
        layers += [halo, named.mark_text(**place, color=MUTED_COLOUR)]
    # the shape of each series at the ends of its lines, where no other mark hides it
    tooltips = [alt.Tooltip("series:N", title="of"), *([alt.Tooltip("panel:N", title="split")] if splits else [])]
    tooltips += [alt.Tooltip("x:Q", title=x.title.partition(" (")[0], format="~r")]
    tooltips += [alt.Tooltip(f"{name}:Q", title=name, format=".3~r") for name in ("estimate", "low", "high", "n")]
    last = base.transform_joinaggregate(last="max(x)", groupby=["panel", "series"]).transform_filter(
        "datum.x === datum.last"
    )
    if names is not None:
        layers += name_layers(names, upper_x, y, series_colour(style, legend=False))
    elif len(style.series) > 1:  # a layer that nobody sees, which the legend reads
        legend_marks = last.mark_point(opacity=0, size=1)
        layers.append(legend_marks.encode(y=_y("estimate", y), shape=legend_shape(style, dashes=not splits)))
    end_marks = last.mark_point(clip=True)
    layers.append(end_marks.encode(y=_y("estimate", y), shape=mark_shape(style), tooltip=tooltips))
    if hover:  # the pointer meets the marks that come last
        hover_points = base.mark_point(size=120, opacity=0, clip=True)
        layers.append(hover_points.encode(y=_y("estimate", y), tooltip=tooltips))
    beside = 0 if names is None else names.width
    main = alt.layer(*layers).properties(width=_WIDTH - beside, height=_HEIGHT)
    # what stands beside the panels, for the script of the page, which sets their width
    usermeta = {"usermeta": {"beside": beside}} if beside else {}
    if not overlays.rates:
        return vega_lite(main) | usermeta
    strip = _strip(overlays.rates, x, style, legend=legend).properties(width=_WIDTH - beside, height=_STRIP_HEIGHT)
    chart = alt.vconcat(main, strip, spacing=_GAP, bounds="flush")
    # the room for the axis's title is there already, and the legend needs less
    config = {**THEME["legend"], "offset": _LEGEND_OFFSET}
    return vega_lite(chart.resolve_scale(strokeDash="independent"), legend=config) | usermeta


def training_curve_panels(
    x: Axis, y: Axis, style: SeriesStyle, overlays: Overlays, *, single_seeds: bool = False
) -> dict[str, Json]:
    """As ``training_curve_chart``, with a panel for each series and without names of levels and learning rates."""

    def layers_of(name: str, x: Axis, y: Axis, colour: str) -> list[Any]:
        def drawn(data: Any, field: str) -> Any:
            return alt.Chart(data).encode(x=alt.X("x:Q", scale=x.scale, axis=x.axis), y=_y(field, y))

        def own(rows: _Rows) -> Any:
            return alt.InlineData([row for row in rows if row["series"] == name])

        means = drawn(alt.NamedData("points"), "estimate").transform_filter(of_series(name))
        band = drawn(alt.NamedData("points"), "low").transform_filter(of_series(name)).encode(y2=alt.Y2("high:Q"))
        layers = [band.mark_area(color=colour, opacity=0.2, clip=True)]
        if overlays.rules:
            levels = alt.Chart(alt.InlineData([{"y": rule["y"]} for rule in overlays.rules])).encode(y=_y("y", y))
            layers.append(levels.mark_rule(color="#777777", strokeWidth=1, strokeDash=[3, 3]))
        faint = {"color": colour, "strokeWidth": 0.8, "opacity": 0.5}
        if batches := [row for row in overlays.batches if row["series"] == name]:
            layers.append(drawn(alt.InlineData(batches), "estimate").mark_line(**faint, clip=True))
        if single_seeds:
            seeds = drawn(alt.NamedData("seeds"), "value").transform_filter(of_series(name))
            layers.append(seeds.mark_line(**faint, clip=bool(overlays.cuts)).encode(detail=alt.Detail("seed:N")))
        for runs, dash in ((overlays.diverged, alt.Undefined), (overlays.survivors, [4, 3])):
            if any(row["series"] == name for row in runs):
                layers.append(drawn(own(runs), "value").mark_line(**faint, strokeDash=dash).encode(detail="run:N"))
        layers.append(means.mark_line(color=colour, clip=bool(overlays.cuts)))
        cut_tips = [alt.Tooltip("furthest:Q", title="goes to", format=".3~r")]
        for cut in [cut for cut in overlays.cuts if cut["series"] == name]:
            arrow = drawn(alt.InlineData([cut]), "value").mark_point(shape=_ARROW, size=90, yOffset=8, color=colour)
            layers.append(arrow.encode(tooltip=cut_tips))
        if any(row["series"] == name for row in overlays.crosses):
            cross = drawn(own(overlays.crosses), "value").mark_point(
                shape=CROSS_PATH, filled=False, size=70, color=colour, strokeWidth=2
            )
            layers.append(cross.encode(tooltip=[alt.Tooltip("told:N", title="run")]))
        tips = [alt.Tooltip("x:Q", title=x.title, format="~r")]
        tips += [alt.Tooltip(f"{field}:Q", title=field, format=".3~r") for field in ("estimate", "low", "high", "n")]
        last = means.transform_joinaggregate(last="max(x)").transform_filter("datum.x === datum.last")
        return [*layers, last.mark_point(color=colour, clip=True).encode(tooltip=tips)]

    return series_panels(style, x, y, layers_of)


def has_bands(n_series: int, splits: Sequence[str], *, windowed: bool) -> bool:
    """Whether there are few enough lines to distinguish their bands, also from faint lines of single batches."""
    return n_series * max(1, len(splits)) <= (_MAX_BANDS // 4 if windowed else _MAX_BANDS)


def _base(data: Any, x: Axis, style: SeriesStyle, *, legend: bool) -> Any:
    colour = series_colour(style, legend=legend)
    return alt.Chart(data).encode(x=alt.X("x:Q", scale=x.scale, axis=x.axis), color=colour)


def _dashes(splits: Sequence[str], style: SeriesStyle) -> "alt.StrokeDash":
    """Dashes by split if there are several, else by series."""
    if not splits:
        scale = alt.Scale(domain=list(range(len(style.series))), range=[list(dash) for dash in style.dashes])
        return alt.StrokeDash("line:O", scale=scale, legend=None)
    dash_legend = alt.Legend(symbolType="stroke", symbolStrokeWidth=2, symbolSize=500, columns=len(splits))
    scale = alt.Scale(domain=list(splits), range=[list(_SPLITS[split]) for split in splits])
    return alt.StrokeDash("panel:N", scale=scale, legend=dash_legend)


def _y(field: str, y: Axis) -> "alt.Y":
    return alt.Y(f"{field}:Q", scale=y.scale, axis=y.axis)


def _strip(rates: _Rows, x: Axis, style: SeriesStyle, *, legend: bool) -> Any:
    """Learning rates from 0 on, below the lines and on their axis."""
    top = max(float(row["estimate"]) for row in rates) or 1.0
    scale = alt.Scale(domain=[0, 1.08 * top], nice=False)
    axis = alt.Axis(title="learning rate", values=[0, top], format=".6~g", grid=False)
    lines: dict[Json, list[Mapping[str, Json]]] = {}
    for row in rates:
        lines.setdefault(row["series"], []).append(row)
    # of series that share all their rates the first is drawn
    # reversed, as the last entry of a key stays
    drawn = {tuple((row["x"], row["estimate"]) for row in line): line for line in reversed(lines.values())}
    distinct = [row for line in reversed(drawn.values()) for row in line]
    line = _base(alt.InlineData(distinct), x, style, legend=legend).mark_line(strokeWidth=1.6)
    return line.encode(y=alt.Y("estimate:Q", scale=scale, axis=axis), strokeDash=_dashes((), style))
