"""The shape of spectra: a panel an arm on one pair of axes, a line with its band, and a rug of single eigenvalues."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import altair as alt

from lnlab.keys import Json
from lnlab.report.scales import Axis
from lnlab.report.theme import THEME, Look

COLUMNS, WIDTH, HEIGHT, GAP = 2, 345, 300, 60
Rows = Sequence[Mapping[str, Json]]


def spectra(x: Axis, y: Axis, look: Look, rugs: Mapping[str, Rows]) -> dict[str, Json]:
    """``points`` holds ``panel series line x estimate low high n``, the panel being the series.

    Args:
        x: eigenvalues, the same axis for all.
        y: densities, likewise.
        look: of the series.
        rugs: for each series the eigenvalues that are marked below, as rows of ``x seed``.
    """
    arms = list(zip(look.series, look.colours, strict=True))
    width = WIDTH if len(arms) > 1 else 2 * WIDTH + GAP
    each = [
        _panel(name, colour, x, y if place % COLUMNS == 0 else replace(y, title=""), rugs.get(name, ()), width)
        for place, (name, colour) in enumerate(arms)
    ]
    spec: dict[str, Json] = alt.concat(*each, columns=COLUMNS, spacing=GAP, bounds="flush").to_dict()
    return {**spec, "config": dict(THEME)}


def _panel(name: str, colour: str, x: Axis, y: Axis, rug: Rows, width: int) -> Any:
    here = alt.Chart(alt.NamedData("points")).transform_filter(alt.FieldEqualPredicate(field="panel", equal=name))
    base = here.encode(x=alt.X("x:Q", scale=x.scale, axis=x.axis))
    band = base.mark_area(opacity=0.25, color=colour, clip=True).encode(y=_y("low", y), y2="high:Q")
    line = base.mark_line(strokeWidth=1.6, color=colour, clip=True).encode(y=_y("estimate", y))
    title = alt.TitleParams(name, anchor="start", frame="group", fontSize=13, fontWeight="normal", offset=30)
    return alt.layer(band, line, *_rug(rug, colour, x)).properties(width=width, height=HEIGHT, title=title)


def _rug(rows: Rows, colour: str, x: Axis) -> list[Any]:
    if not rows:
        return []
    tips = [alt.Tooltip("x:Q", title="eigenvalue", format=".3~r"), alt.Tooltip("seed:Q", title="of")]
    tick = alt.Chart(alt.InlineData(list(rows))).mark_tick(thickness=1.2, size=11, opacity=0.7, color=colour, clip=True)
    return [tick.encode(x=alt.X("x:Q", scale=x.scale, axis=x.axis), y=alt.value(HEIGHT - 6), tooltip=tips)]


def _y(field: str, y: Axis) -> alt.Y:
    return alt.Y(f"{field}:Q", scale=y.scale, axis=y.axis)
