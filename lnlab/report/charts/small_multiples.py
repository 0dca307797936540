"""Many small panels on one scale, wrapped to the page."""

import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from lnlab.keys import Json
from lnlab.report.charts.altair_late import alt
from lnlab.report.charts.axes import Axis
from lnlab.report.charts.vega_lite import vega_lite
from lnlab.report.theme import MUTED_COLOUR, TEXT_COLOUR, colour_ramp

_COLUMNS, _WIDTH, _HEIGHT, _GAP = 4, 166, 120, 22
NOTE_BREAK, _NOTE_LINE = "; ", 12
"""Between two lines of a note, and from one to the next."""
_X_DOMAIN = (-0.03, 1.16)
"""The x-axis from the first place, 0, to the last, 1, with room for the name of a line at its end."""


def small_multiples_chart(
    panels: Sequence[str], lines: Sequence[str], y: Axis, notes: Mapping[str, str], at_head: Collection[str] = ()
) -> dict[str, Json]:
    """A panel for each name, with all its lines. The first and the last line are named at their right ends.

    ``points`` holds ``panel series line x estimate low high n``, x from 0 to 1. ``notes`` stand at the foot
    of their panels, or at the head.
    """
    scale = alt.Scale(domain=list(lines), range=list(colour_ramp(len(lines))))
    legend = alt.Legend(
        columns=len(lines) if len(lines) < 5 else math.ceil(len(lines) / 2),  # a phone is as wide as four
        symbolType="stroke",
        symbolSize=260,
        symbolStrokeWidth=3,
        symbolOpacity=1,
        offset=8,
        orient="top",
    )
    x_axis = alt.Axis(
        values=[0, 1], labelExpr="datum.value ? 'last' : 'first'", title=None, ticks=True, labelFlush=True
    )
    points = alt.NamedData("points")  # one object: Altair writes data once that its layers share
    base: Any = alt.Chart(points).encode(
        x=alt.X("x:Q", scale=alt.Scale(domain=list(_X_DOMAIN), nice=False), axis=x_axis),
        y=alt.Y("estimate:Q", scale=y.scale, axis=replace(y, title="").axis),
        color=alt.Color("series:N", scale=scale, legend=legend),
    )
    tips = [alt.Tooltip("panel:N", title="of"), alt.Tooltip("series:N", title="with")]
    tips += [alt.Tooltip(f"{name}:Q", title=name, format=".3~r") for name in ("estimate", "low", "high", "n")]
    ends = base.transform_filter("datum.x === 0 || datum.x === 1").mark_point(size=90, opacity=0, clip=True, aria=False)
    layers = [
        # without a title: Vega-Lite would join those of all layers
        base.mark_area(opacity=0.16, clip=True).encode(y=alt.Y("low:Q", title=None), y2=alt.Y2("high:Q")),
        base.mark_line(strokeWidth=1.7, clip=True),
        ends.encode(tooltip=tips),  # marks that are not seen and tell their numbers to a pointer
    ]
    # the number of the first and of the last line at their right ends, the higher one above
    inside = f"{y.domain[0]!r} <= datum.estimate && datum.estimate <= {y.domain[1]!r}"
    at_ends = f"datum.x === 1 && (datum.line === 0 || datum.line === {len(lines) - 1}) && {inside}"
    # in logarithms, as the axis is: the mean then lies halfway between the two lines
    level = base.transform_filter(at_ends).transform_calculate(level="log(datum.estimate)")
    both = level.transform_joinaggregate(middle="mean(level)", count="count()", groupby=["panel"])
    above = "datum.count === 1 || datum.level > datum.middle || (datum.level === datum.middle && datum.line > 0)"
    # a panel has room for "16", not for "16 layers"
    numbers = both.transform_calculate(name="replace(datum.series, /^[^0-9]*([0-9.]+).*$/, '$1')")
    for test, baseline in ((above, "bottom"), (f"!({above})", "top")):
        name = numbers.transform_filter(test).mark_text(align="left", dx=3, baseline=baseline, fontSize=10)
        layers.append(name.encode(text=alt.Text("name:N")))
    # each line of a note is a mark, as lines of one mark would go on below the panel
    notes_at: dict[int, dict[str, str]] = {}
    for of_panel, note in notes.items():
        for n, words in enumerate(note.split(NOTE_BREAK) if note else ()):
            from_foot = len(note.split(NOTE_BREAK)) - 1 - n
            height = _NOTE_LINE * (n + 1) if of_panel in at_head else _HEIGHT - 4 - _NOTE_LINE * from_foot
            notes_at.setdefault(height, {})[of_panel] = words
    for height, of_panels in sorted(notes_at.items()):
        words = f"({json.dumps(of_panels, ensure_ascii=False, sort_keys=True)})[datum.panel]"
        noted = alt.Chart(points).transform_aggregate(groupby=["panel"]).transform_calculate(note=words)
        text = noted.transform_filter("isValid(datum.note)").mark_text(
            align="right", baseline="bottom", color=MUTED_COLOUR, fontSize=10.5, fontStyle="italic"
        )
        layers.append(text.encode(x=alt.datum(_X_DOMAIN[1]), y=alt.value(height), text=alt.Text("note:N")))
    panel = alt.layer(*layers).properties(width=_WIDTH, height=_HEIGHT, data=points)
    header = alt.Header(labelAnchor="start", labelExpr="split(datum.value, ', ')", labelPadding=6, labelFontSize=12)
    facet = alt.Facet("panel:N", sort=list(panels), title=None, header=header)
    title = alt.TitleParams(
        f"{y.title}", anchor="start", fontSize=13, fontWeight="normal", color=TEXT_COLOUR, offset=10
    )
    return vega_lite(panel.facet(facet, columns=_COLUMNS, spacing=_GAP).properties(title=title))


def note_height(note: str) -> float:
    """The share of a panel's height that a note takes."""
    return (_NOTE_LINE * len(note.split(NOTE_BREAK)) + 4) / _HEIGHT
