"""Name lines at their ends, where there is room, in place of a legend."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import polars as pl

from lnlab.keys import Json
from lnlab.report.charts.altair_late import alt
from lnlab.report.charts.axes import Axis
from lnlab.report.theme import TEXT_COLOUR, SeriesStyle
from lnlab.report.words.wording import even_lines

_LEAST_HEIGHT = 230
"""Pixels of a panel on a phone, the lowest that a line chart becomes: names that are apart there are so everywhere."""
_LINE, _LETTER, _FONT_SIZE = 14, 6.4, 12
"""Pixels of a line of text, of a letter, and of its font."""
_BETWEEN = 6
"""Pixels around a name of several lines, whose last one would be read with the name below it."""
_LEADER = 12
"""Pixels from the edge of the panel to a name."""
_MOST_LETTERS, _LONG = 17, 12
"""A line of a name is no longer, as it takes its room from the panel on a phone. A long name stands in two lines."""
BREAK = "↵"
"""Between the lines of a name: a control character would not reach the drawing."""
_SAME_END = 0.03
"""How far apart lines may end, as a share of the axis."""


@dataclass(frozen=True)
class EndNames:
    """Names at the right of a panel.

    Attributes:
        rows: ``series label x y at``: where the line ends, and the height of the first line of its name, on the axes.
        width: pixels that the names take.
    """

    rows: Sequence[Mapping[str, Json]]
    width: int


def end_names(
    points: pl.DataFrame, style: SeriesStyle, x: Axis, y: Axis, below: Mapping[str, str] | None = None
) -> EndNames | None:
    """Place the names of lines beside their ends, none over another. None means that a legend is needed.

    Args:
        points: ``series x estimate`` of one panel.
        style: of the series.
        x: the horizontal axis.
        y: the vertical axis.
        below: what stands below the name, by series.
    """
    drawn = points.filter(pl.col("estimate").is_not_null()).sort("x")
    ends = {
        str(name): (float(at), float(value))
        for name, at, value in drawn.group_by("series", maintain_order=True)
        .last()
        .select("series", "x", "estimate")
        .rows()
    }
    if len(style.series) < 2 or {*ends} != {*style.series}:
        return None
    places = {name: (_share(x, at), _share(y, value)) for name, (at, value) in ends.items()}
    across = [place for place, _ in places.values()]
    more = {name: BREAK.join(even_lines(text, _MOST_LETTERS)) for name, text in (below or {}).items()}
    labels = {n: BREAK.join(filter(None, (in_two_lines(n), more.get(n)))) for n in style.series}
    if max(across) - min(across) > _SAME_END or not all(0 <= height <= 1 for _, height in places.values()):
        return None
    widest = max(len(line) for label in labels.values() for line in label.split(BREAK))
    breaks = {name: label.count(BREAK) for name, label in labels.items()}
    heights = {name: _LINE * (lines + 1) + (_BETWEEN if lines else 0) for name, lines in breaks.items()}
    if widest > _MOST_LETTERS or sum(heights.values()) > _LEAST_HEIGHT:
        return None
    # from the foot upwards; lines that end alike are named in the order of the sweep, from above
    order = sorted(style.series, key=lambda name: (places[name][1], -style.series.index(name)))
    middles = spread_apart([_LEAST_HEIGHT * places[name][1] for name in order], [heights[name] for name in order])
    rows: list[Mapping[str, Json]] = []
    for name, middle in zip(order, middles, strict=True):
        first = (middle + _LINE * breaks[name] / 2) / _LEAST_HEIGHT
        rows.append(
            {"series": name, "label": labels[name], "x": ends[name][0], "y": ends[name][1], "at": _at_share(y, first)}
        )
    return EndNames(rows, math.ceil(_LEADER + 4 + _LETTER * widest))


def spread_apart(wanted: Sequence[float], heights: Sequence[float], room: float = _LEAST_HEIGHT) -> list[float]:
    """The middles of boxes on a line, as near to the wanted ones as boxes that do not overlap can be.

    Args:
        wanted: in ascending order.
        heights: of the boxes.
        room: all of them lie between 0 and this, which holds them.
    """
    offsets = [0.0]
    for lower, upper in pairwise(heights):
        offsets.append(offsets[-1] + (lower + upper) / 2)
    # least squares over middles without their offsets, which must ascend: neighbours out of order share their mean
    groups: list[list[float]] = []
    for middle, offset in zip(wanted, offsets, strict=True):
        groups.append([middle - offset])
        while len(groups) > 1 and math.fsum(groups[-2]) * len(groups[-1]) >= math.fsum(groups[-1]) * len(groups[-2]):
            last = groups.pop()
            groups[-1] += last
    fitted = [math.fsum(group) / len(group) for group in groups for _ in group]
    low, high = heights[0] / 2, room - heights[-1] / 2 - offsets[-1]
    return [min(max(value, low), high) + offset for value, offset in zip(fitted, offsets, strict=True)]


def name_layers(names: EndNames, x: Axis, y: Axis, colour: Any) -> list[Any]:
    """A thin line from each end to the name beside the panel, and the name."""
    base = alt.Chart(alt.InlineData(list(names.rows)))
    leaders = base.mark_rule(strokeWidth=1, opacity=0.7, x2Offset=_LEADER - 3, aria=False).encode(
        x=alt.X("x:Q", scale=x.scale, axis=x.axis),
        x2=alt.value("width"),
        y=alt.Y("y:Q", scale=y.scale, axis=y.axis),
        y2=alt.Y2("at:Q"),
        color=colour,
    )
    words = base.mark_text(
        align="left", baseline="middle", dx=_LEADER, fontSize=_FONT_SIZE, lineBreak=BREAK, lineHeight=_LINE
    )
    return [
        leaders,
        words.encode(
            x=alt.value("width"),
            y=alt.Y("at:Q", scale=y.scale, axis=y.axis),
            text=alt.Text("label:N"),
            color=alt.value(TEXT_COLOUR),
            detail=alt.Detail("series:N"),
        ),
    ]


def in_two_lines(name: str) -> str:
    """A long name in two lines, broken behind a comma, else at the blank next to its middle."""
    blanks = [place for place, letter in enumerate(name) if letter == " "]
    commas = [place for place in blanks if name[place - 1] == ","]
    if len(name) <= _LONG or not blanks:
        return name
    place = min(commas or blanks, key=lambda place: abs(place - len(name) / 2))
    return f"{name[:place]}{BREAK}{name[place + 1 :]}"


def _share(axis: Axis, value: float) -> float:
    """How far along an axis a value lies: 0 at its start, 1 at its end."""
    low, high, at = ((math.log(max(v, 1e-300)) if axis.log else v) for v in (*axis.domain, value))
    return (at - low) / (high - low)


def _at_share(axis: Axis, share: float) -> float:
    low, high = ((math.log(v) if axis.log else v) for v in axis.domain)
    at = low + share * (high - low)
    return math.exp(at) if axis.log else at
