"""The shape of a basin: medians and single runs over a path of the setting, and at the edge the runs that diverged."""

from collections.abc import Mapping, Sequence
from typing import Any

from lnlab.keys import Json
from lnlab.report.charts.altair_late import alt
from lnlab.report.charts.axes import Axis
from lnlab.report.charts.legend import legend_shape, mark_shape, series_colour
from lnlab.report.charts.training_curves import CROSS_PATH
from lnlab.report.charts.vega_lite import vega_lite
from lnlab.report.theme import SeriesStyle

_WIDTH, _HEIGHT = 780, 350


def basin_chart(
    x: Axis,
    y: Axis,
    style: SeriesStyle,
    diverged: Sequence[Mapping[str, Json]],
    chosen: Sequence[Mapping[str, Json]] = (),
) -> dict[str, Json]:
    """Lines join medians, and dots are runs. ``points`` and ``seeds`` are as in ``lines_chart``.

    ``diverged`` holds ``series x y label``: at an x, how many of how many runs diverged. ``chosen`` holds ``series x
    y``: points with a ring.
    """
    colour = series_colour(style)
    dash = alt.StrokeDash(
        "line:O",
        scale=alt.Scale(domain=list(range(len(style.series))), range=[list(dash) for dash in style.dashes]),
        legend=None,
    )
    layers: list[Any] = []
    for name in ("seeds", "points"):
        base = alt.Chart(alt.NamedData(name)).encode(x=alt.X("x:Q", scale=x.scale, axis=x.axis), color=colour)
        up = alt.Y("value:Q" if name == "seeds" else "estimate:Q", scale=y.scale, axis=y.axis)
        if name == "seeds":
            tips = [alt.Tooltip("series:N", title="of"), alt.Tooltip("seed:Q"), alt.Tooltip("value:Q", format=".3~r")]
            layers.append(base.mark_point(size=18, opacity=0.45).encode(y=up, tooltip=tips))
        else:
            tips = [alt.Tooltip("series:N", title="of"), alt.Tooltip("x:Q", title=x.title, format="~r")]
            tips += [
                alt.Tooltip(f"{field}:Q", title=field, format=".3~r") for field in ("estimate", "low", "high", "n")
            ]
            layers.append(base.mark_line().encode(y=up, strokeDash=dash))
            if len(style.series) > 1:
                layers.append(base.mark_point(opacity=0, size=1).encode(y=up, shape=legend_shape(style)))
            layers.append(base.mark_point().encode(y=up, shape=mark_shape(style), tooltip=tips))
    position: dict[str, Any] = {
        "x": alt.X("x:Q", scale=x.scale, axis=x.axis),
        "y": alt.Y("y:Q", scale=y.scale, axis=y.axis),
    }
    if chosen:
        base = alt.Chart(alt.InlineData(list(chosen))).encode(**position, color=colour)
        layers.append(base.mark_point(shape="circle", filled=False, size=260, strokeWidth=2))
    if diverged:
        base = alt.Chart(alt.InlineData(list(diverged))).encode(**position, color=colour)
        cross = base.mark_point(shape=CROSS_PATH, filled=False, size=70)
        layers += [
            cross.encode(strokeWidth=alt.value(2)),
            base.mark_text(align="left", dx=8).encode(text=alt.Text("label:N")),
        ]
    return vega_lite(alt.layer(*layers).properties(width=_WIDTH, height=_HEIGHT))
