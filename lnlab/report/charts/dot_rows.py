"""A row for each name, sorted: single seeds as dots, the mean with its bar, and its number above it."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from lnlab.keys import Json
from lnlab.report.charts.altair_late import alt
from lnlab.report.charts.axes import Axis
from lnlab.report.charts.end_names import BREAK, in_two_lines
from lnlab.report.charts.vega_lite import vega_lite
from lnlab.report.theme import MUTED_COLOUR, PAPER_COLOUR, TEXT_COLOUR
from lnlab.report.words.control_characters import without_control_characters
from lnlab.seed_words import seed_word

_WIDTH, _ROW, _NARROW_ROW, _NARROW_LONG = 780, 38, 29, 36
"""The width, and the height of a row on a wide page, on a phone, and there where a name has two lines."""
_AWAY = {"center": 0, "left": 3, "right": -3}
"""How far a text stands beside the middle of its mark, by how it is aligned."""
_LETTER = 1 / 60
"""Half the width of a letter on a phone, as a share of the axis."""


def dot_rows_chart(
    colours: Mapping[str, str],
    x: Axis,
    title: Sequence[str],
    texts: Sequence[Mapping[str, Json]],
    levels: Sequence[Mapping[str, Json]] = (),
) -> dict[str, Json]:
    """``points`` holds ``series estimate low high n``, ``seeds`` holds ``series seed value``.

    Args:
        colours: the rows from the top, each with its colour.
        x: the numbers.
        title: of the axis, a line each.
        texts: ``series x text side``: what stands above the marks, and how it is aligned, see ``side_of``.
        levels: ``x name``: upright lines.
    """
    lines = {name: in_two_lines(name).split(BREAK) for name in colours}
    long = [name for name, words in lines.items() if len(words) > 1]
    labels = alt.Axis(
        title=None,
        grid=True,
        domain=False,
        ticks=False,
        labelColor=TEXT_COLOUR,
        labelLimit=160,
        # of two lines the first would stand beside the marks
        labelOffset={"condition": {"test": f"indexof({json.dumps(long)},datum.value)>=0", "value": -6}, "value": 0},
        labelExpr=f"({json.dumps(without_control_characters(lines), ensure_ascii=False)})[datum.value]",
    )
    row = alt.Y("series:N", sort=list(colours), axis=labels)
    across: dict[str, Any] = {"scale": x.scale, "axis": {**x.axis, "title": list(title)}}
    colour = alt.Color("series:N", scale={"domain": [*colours], "range": [*colours.values()]}, legend=None)
    points, seeds = (alt.Chart(alt.NamedData(name)).encode(y=row, color=colour) for name in ("points", "seeds"))
    tips = [
        alt.Tooltip("series:N", title="of"),
        alt.Tooltip("seed:Q", title=alt.Undefined if seed_word() == "seed" else seed_word()),
        alt.Tooltip("value:Q", format=".3~r"),
    ]
    numbers = [alt.Tooltip("series:N", title="of")]
    numbers += [alt.Tooltip(f"{name}:Q", title=name, format=".3~r") for name in ("estimate", "low", "high", "n")]
    at = alt.X("estimate:Q", **across)
    words: list[tuple[Any, dict[str, Any]]] = [
        (
            alt.Chart(alt.InlineData(beside)).encode(y=row, x=alt.X("x:Q", **across), text=alt.Text("text:N")),
            {"dy": -11, "dx": _AWAY[side], "align": side, "fontSize": 12},
        )
        for side in _AWAY
        if (beside := [text for text in texts if text["side"] == side])
    ]
    halo: dict[str, Any] = {"stroke": PAPER_COLOUR, "strokeWidth": 3, "strokeJoin": "round", "aria": False}
    layers = [
        seeds.mark_point(size=26, opacity=0.4).encode(x=alt.X("value:Q", **across), tooltip=tips),
        points.mark_rule(strokeWidth=2.4).encode(x=alt.X("low:Q", **across), x2=alt.X2("high:Q")),
        points.mark_point(size=80).encode(x=at, tooltip=numbers),
        *(layer.mark_text(**place, **halo) for layer, place in words),
        *(layer.mark_text(**place, color=TEXT_COLOUR) for layer, place in words),
    ]
    if levels:
        base = alt.Chart(alt.InlineData(list(levels))).encode(x=alt.X("x:Q", **across))
        names = base.mark_text(baseline="bottom", fontSize=11, color=MUTED_COLOUR).encode(
            y=alt.value(-7), text=alt.Text("name:N")
        )
        layers = [base.mark_rule(color=MUTED_COLOUR, strokeDash=[3, 3]), names, *layers]
    drawn = alt.layer(*layers).properties(width=_WIDTH, height=_ROW * len(colours))
    return vega_lite(drawn) | {"usermeta": {"narrow": (_NARROW_LONG if long else _NARROW_ROW) * len(colours)}}


def side_of(text: str, at: float, levels: Sequence[Mapping[str, Json]], x: Axis) -> str:
    """How a text above its mark is aligned: beside an upright line that would pass through it, else centred."""
    low, high = (_along(end, x) for end in x.scale["domain"])
    reach = len(text) * _LETTER
    for level in levels:
        away = (_along(at, x) - _along(level["x"], x)) / (high - low)
        if abs(away) < reach:
            return "left" if away >= 0 else "right"
    return "center"


def _along(value: Any, x: Axis) -> float:
    """Where a number lies along the axis, before its ends are 0 and 1."""
    return math.log(value) if x.log else float(value)
