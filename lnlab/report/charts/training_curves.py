"""The shape of curves over training: lines with bands, runs that diverged, a rule, and a strip of learning rates below.

Colour and the mark at a line's end tell the series apart, dashes the splits; where there is one split, the series.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import altair as alt

from lnlab.keys import Json
from lnlab.report.charts.axes import Axis
from lnlab.report.charts.legend import legend_shape, mark_shape, series_colour
from lnlab.report.theme import MUTED_COLOUR, PAPER_COLOUR, THEME, SeriesStyle

_WIDTH, _HEIGHT, _STRIP_HEIGHT, _GAP, _LEGEND_OFFSET = 780, 340, 84, 56, 16
_SPLITS: Mapping[str, tuple[int, ...]] = {"train": (2, 2), "validation": (1, 0), "test": (8, 3, 2, 3)}
CROSS_PATH = "M-1,-1L1,1M-1,1L1,-1"
MAX_HOVER_POINTS = 600
"""Points of which each may have a mark that is not seen and tells its numbers."""
_MAX_BANDS = 12
"""Lines, if there are more of which none has a band."""
_ARROW_UP = "M0,-1L0.6,-0.2L0.15,-0.2L0.15,1L-0.15,1L-0.15,-0.2L-0.6,-0.2Z"
_ARROW_DOWN = "M0,1L0.6,0.2L0.15,0.2L0.15,-1L-0.15,-1L-0.15,0.2L-0.6,0.2Z"
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
        cuts: ``series x value up furthest``: where the axis cuts a line off, at its upper end or at its lower.
        rates: ``series line x estimate``, for the strip; none without it.
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
    clip: bool,
    single_seeds: bool = False,
) -> dict[str, Json]:
    """Lines over training. ``points`` holds ``panel series line x estimate low high n``, ``panel`` being the split.

    Args:
        splits: those that are drawn, where there are several.
        x: updates or epochs.
        y: of the lines.
        style: of the series.
        overlays: what else is drawn.
        hover: whether every point tells its numbers.
        clip: whether lines leave the axis; to cut off each of many lines takes a drawing as long as all else.
        single_seeds: whether each seed has a thin line: where there are too few for bands.
    """
    base = _base(alt.NamedData("points"), _untitled(x) if overlays.rates else x, style)
    dashes = _dashes(splits, style)
    bands = has_bands(len(style.series), splits, windowed=bool(overlays.batches))
    band = base.mark_area(fillOpacity=0.16, opacity=1, clip=True).encode(y=_y("low", y), y2="high:Q")
    layers = [
        *_rules(overlays.rules, y),
        *_behind(overlays.batches, base, y),
        *([band] if bands else []),
    ]
    if single_seeds:
        seeds = _base(alt.NamedData("seeds"), _untitled(x) if overlays.rates else x, style)
        thin_lines = seeds.mark_line(strokeWidth=0.9, opacity=0.5, clip=clip)
        layers += [thin_lines.encode(y=_y("value", y), detail=["seed:N", "panel:N"])]
    layers += [base.mark_line(clip=clip).encode(y=_y("estimate", y), strokeDash=dashes)]
    layers += [
        *_cuts(overlays.cuts, base, y),
        *_diverged(overlays, x, y, style),
        *_rule_names(overlays.rules, x, y),
        *_marks(base, y, style, x, splits, hover=hover),
    ]
    main = alt.layer(*layers).properties(width=_WIDTH, height=_HEIGHT)
    if not overlays.rates:
        return _finish(main)
    chart = alt.vconcat(main, _strip(overlays.rates, x, style), spacing=_GAP, bounds="flush")
    return _finish(chart.resolve_scale(strokeDash="independent"), {**THEME["legend"], "offset": _LEGEND_OFFSET})


def has_bands(n_series: int, splits: Sequence[str], *, windowed: bool) -> bool:
    """Whether there are few enough lines to distinguish their bands, also from faint lines of single batches."""
    return n_series * max(1, len(splits)) <= (_MAX_BANDS // 4 if windowed else _MAX_BANDS)


def _base(data: Any, x: Axis, style: SeriesStyle) -> Any:
    return alt.Chart(data).encode(x=alt.X("x:Q", scale=x.scale, axis=x.axis), color=series_colour(style))


def _dashes(splits: Sequence[str], style: SeriesStyle) -> alt.StrokeDash:
    """By split, where there are several; else by series."""
    if not splits:
        scale = alt.Scale(domain=list(range(len(style.series))), range=[list(dash) for dash in style.dashes])
        return alt.StrokeDash("line:O", scale=scale, legend=None)
    dash_legend = alt.Legend(symbolType="stroke", symbolStrokeWidth=2, symbolSize=500, columns=len(splits))
    scale = alt.Scale(domain=list(splits), range=[list(_SPLITS[split]) for split in splits])
    return alt.StrokeDash("panel:N", scale=scale, legend=dash_legend)


def _y(field: str, y: Axis) -> alt.Y:
    return alt.Y(f"{field}:Q", scale=y.scale, axis=y.axis)


def _untitled(x: Axis) -> Axis:
    """The axis above a strip, which has the title and the epochs for both."""
    return replace(x, title="", epoch=0.0)


def _rules(rules: _Rows, y: Axis) -> list[Any]:
    """Level lines."""
    if not rules:
        return []
    levels = alt.Chart(alt.InlineData([{"y": rule["y"]} for rule in rules])).encode(y=_y("y", y))
    return [levels.mark_rule(color="#777777", strokeWidth=1, strokeDash=[3, 3])]


def _rule_names(rules: _Rows, x: Axis, y: Axis) -> list[Any]:
    """The names of level lines at one of their ends, above or below, readable where a curve goes through them."""
    layers = []
    for rule in rules:
        base = alt.Chart(alt.InlineData([rule])).encode(
            y=_y("y", y), x=alt.datum(x.domain[0 if rule["left"] else 1], scale=x.scale), text="label:N"
        )
        place: dict[str, Any] = {
            "align": "left" if rule["left"] else "right",
            "baseline": "bottom" if rule["above"] else "top",
            "dx": 4 if rule["left"] else -4,
            "dy": -3 if rule["above"] else 4,
            "fontSize": 11,
        }
        halo = base.mark_text(**place, stroke=PAPER_COLOUR, strokeWidth=3, strokeJoin="round", aria=False)
        layers += [halo, base.mark_text(**place, color=MUTED_COLOUR)]
    return layers


def _behind(batches: _Rows, base: Any, y: Axis) -> list[Any]:
    """Single batches as faint lines."""
    if not batches:
        return []
    faint = base.properties(data=alt.InlineData(list(batches)))
    return [faint.mark_line(strokeWidth=0.8, opacity=0.3, clip=True).encode(y=_y("estimate", y))]


def _cuts(cuts: _Rows, base: Any, y: Axis) -> list[Any]:
    """Arrows where lines leave the axis, inside of it: no shape of a series looks like one."""
    tips = [alt.Tooltip("series:N", title="of"), alt.Tooltip("furthest:Q", title="goes to", format=".3~r")]
    layers = []
    for up, shape, offset in ((True, _ARROW_UP, 8), (False, _ARROW_DOWN, -8)):
        if rows := [row for row in cuts if row["up"] is up]:
            arrows = base.properties(data=alt.InlineData(rows)).mark_point(shape=shape, size=90, yOffset=offset)
            layers.append(arrows.encode(y=_y("value", y), tooltip=tips))
    return layers


def _diverged(overlays: Overlays, x: Axis, y: Axis, style: SeriesStyle) -> list[Any]:
    """Runs that diverged as thin lines, each with a cross where it ended; dashed, those of them that did not."""
    x = _untitled(x) if overlays.rates else x
    thin_lines = _base(alt.InlineData(list(overlays.diverged)), x, style).mark_line(strokeWidth=1, strokeOpacity=0.75)
    lines = [thin_lines.encode(y=_y("value", y), detail=["run:N", "panel:N"])] if overlays.diverged else []
    if overlays.survivors:
        alone = _base(alt.InlineData(list(overlays.survivors)), x, style)
        dashed = alone.mark_line(strokeWidth=1, strokeOpacity=0.75, strokeDash=[4, 3])
        lines.append(dashed.encode(y=_y("value", y), detail=["run:N", "panel:N"]))
    if not overlays.crosses:
        return lines
    cross = _base(alt.InlineData(list(overlays.crosses)), x, style).mark_point(shape=CROSS_PATH, filled=False, size=90)
    tips = [alt.Tooltip("series:N", title="of"), alt.Tooltip("told:N", title="run")]
    return [*lines, cross.encode(y=_y("value", y), strokeWidth=alt.value(2), tooltip=tips)]


def _marks(base: Any, y: Axis, style: SeriesStyle, x: Axis, splits: Sequence[str], *, hover: bool) -> list[Any]:
    """The shape of each series at the ends of its lines; where there are few points, each of them tells its numbers."""
    tooltips = [alt.Tooltip("series:N", title="of"), *([alt.Tooltip("panel:N", title="split")] if splits else [])]
    tooltips += [alt.Tooltip("x:Q", title=x.title.partition(" (")[0], format="~r")]
    tooltips += [alt.Tooltip(f"{name}:Q", title=name, format=".3~r") for name in ("estimate", "low", "high", "n")]
    last = base.transform_joinaggregate(last="max(x)", groupby=["panel", "series"]).transform_filter(
        "datum.x === datum.last"
    )
    end_marks = last.mark_point(clip=True).encode(y=_y("estimate", y), shape=mark_shape(style), tooltip=tooltips)
    if len(style.series) > 1:
        legend = legend_shape(style, dashes=not splits)
        marks_of_legend = [last.mark_point(opacity=0, size=1).encode(y=_y("estimate", y), shape=legend)]
    else:
        marks_of_legend = []
    hover_points = base.mark_point(size=120, opacity=0, clip=True).encode(y=_y("estimate", y), tooltip=tooltips)
    return [*marks_of_legend, end_marks, *([hover_points] if hover else [])]


def _strip(rates: _Rows, x: Axis, style: SeriesStyle) -> Any:
    """Learning rates from 0 on, below the lines and on their axis."""
    top = max(float(row["estimate"]) for row in rates) or 1.0
    scale = alt.Scale(domain=[0, 1.08 * top], nice=False)
    axis = alt.Axis(title="learning rate", values=[0, top], format=".2~g", grid=False)
    base = _base(alt.InlineData(_distinct(rates)), x, style)
    line = base.mark_line(strokeWidth=1.6).encode(
        y=alt.Y("estimate:Q", scale=scale, axis=axis), strokeDash=_dashes((), style)
    )
    return line.properties(width=_WIDTH, height=_STRIP_HEIGHT)


def _distinct(rates: _Rows) -> list[Mapping[str, Json]]:
    """Of series that share all their rates the first."""
    lines: dict[Json, list[Mapping[str, Json]]] = {}
    for row in rates:
        lines.setdefault(row["series"], []).append(row)
    drawn = {tuple((row["x"], row["estimate"]) for row in line): line for line in reversed(lines.values())}
    return [row for line in reversed(drawn.values()) for row in line]


def _finish(chart: Any, legend: Json = THEME["legend"]) -> dict[str, Json]:
    """With the theme; above a strip the room for the axis's title is there already, and the legend needs less."""
    spec: dict[str, Json] = chart.to_dict()
    return {**spec, "config": {**THEME, "legend": legend}}
