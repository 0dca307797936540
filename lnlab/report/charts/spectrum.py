"""The shape of spectra: one panel per variant on one pair of axes, a line with its band, and a rug of eigenvalues."""

import altair as alt

from lnlab.keys import Json
from lnlab.report.charts.axes import Axis
from lnlab.report.charts.panels import side_by_side
from lnlab.report.charts.theme import THEME, SeriesStyle

_COLUMNS, _WIDTH, _HEIGHT, _GAP = 2, 350, 300, 20


def spectrum_chart(x: Axis, y: Axis, style: SeriesStyle) -> dict[str, Json]:
    """``points`` holds ``panel series line x estimate low high n marks``, the panel being the series.

    Args:
        x: eigenvalues, the same axis for all.
        y: densities, likewise.
        style: of the series.
    """
    colour = alt.Color("series:N", scale=alt.Scale(domain=list(style.series), range=list(style.colours)), legend=None)
    base = alt.Chart().encode(x=alt.X("x:Q", scale=x.scale, axis=x.axis), color=colour)
    band = base.mark_area(opacity=0.25, clip=True).encode(y=_y("low", y), y2="high:Q")
    line = base.mark_line(strokeWidth=1.6, clip=True).encode(y=_y("estimate", y))
    tips = [alt.Tooltip("x:Q", title="eigenvalue", format=".3~r"), alt.Tooltip("marks:Q", title="number")]
    rug = base.transform_filter("datum.marks > 0").mark_tick(orient="vertical", thickness=1.4, size=11, clip=True)
    layers = alt.layer(band, line, rug.encode(y=alt.value(_HEIGHT - 6), tooltip=tips))
    single = len(style.series) == 1
    panel = layers.properties(
        width=2 * _WIDTH + _GAP if single else _WIDTH, height=_HEIGHT, data=alt.NamedData("points")
    )
    chart = panel if single else side_by_side(panel, style.series, _COLUMNS, spacing=_GAP)
    spec: dict[str, Json] = chart.to_dict()
    return {**spec, "config": dict(THEME)}


def _y(field: str, y: Axis) -> alt.Y:
    return alt.Y(f"{field}:Q", scale=y.scale, axis=y.axis)
