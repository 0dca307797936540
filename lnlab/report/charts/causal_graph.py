"""A causal graph: boxes, and arrows from cause to effect that go down, across and down again, each with two verdicts.

Boxes stand on a grid of columns and rows, so that the drawing is as wide as its page: only distances across stretch,
and every arrow ends pointing down.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any, Literal

from lnlab.keys import Json
from lnlab.report.charts.altair_late import alt
from lnlab.report.charts.vega_lite import vega_lite
from lnlab.report.theme import MUTED_COLOUR, TEXT_COLOUR

_HALF_WIDTH, _HALF_HEIGHT = 0.44, 0.24
"""Half the size of a box, in columns and rows."""
_EDGE = 0.27
"""Rows from the middle of the first and the last box to the edge of the drawing."""
_PORT = 0.16
"""Columns between the middle of a box and an arrow that comes from, or goes to, another column."""
_ROW, _NARROW_ROW, _WIDTH = 82, 65, 780
"""Points from one row to the next, the same on a phone, and across the drawing on paper."""
_LINE_LETTERS, _LINE, _LINE_BREAK = 16, 15, "|"
"""Letters in a line of a box (three boxes fit side by side on a phone), points between lines, and the line break."""
_NUMBER, _SYMBOL = 19, 15
"""Points that the number of an edge and a symbol take."""
VERDICT_COLOURS = {
    "supported": "#17683a",
    "contradicted": "#a82a14",
    "smaller": "#6b3a8f",
    "beyond": "#0b5f78",
    "undecided": "#7a5600",
}
Outcome = Literal["survives", "fails", "weaker", "open"]
OUTCOMES: Mapping[Outcome, tuple[str, tuple[int, int]]] = {
    "survives": (VERDICT_COLOURS["supported"], (1, 0)),
    "fails": (VERDICT_COLOURS["contradicted"], (7, 3)),
    "weaker": (VERDICT_COLOURS["smaller"], (2, 3)),
    "open": (VERDICT_COLOURS["undecided"], (1, 4)),
}
"""What the intervention on the cause of an edge shows -> colour and dash of its arrow."""


@dataclass(frozen=True)
class GraphNode:
    """A box: what stands in it, and its column and row, from 0."""

    label: str
    column: int
    row: int


@dataclass(frozen=True)
class EdgeMark:
    """A verdict beside an arrow: its symbol, its colour, the address behind it, and all that in words."""

    symbol: str
    colour: str
    address: str
    words: str


@dataclass(frozen=True)
class GraphEdge:
    """An arrow with its number, what its two verdicts come to, and their marks: observation, then intervention."""

    number: int
    cause: GraphNode
    effect: GraphNode
    outcome: Outcome
    marks: tuple[EdgeMark, EdgeMark]


def causal_graph_chart(nodes: Sequence[GraphNode], edges: Sequence[GraphEdge], key: str = "") -> dict[str, Json]:
    """Draw boxes and arrows. A verdict links to its address, and the number of an arrow to that of its intervention.

    Args:
        nodes: the boxes.
        edges: the arrows.
        key: what the marks mean, a line above the drawing.
    """
    columns, rows = (max(getattr(node, name) for node in nodes) for name in ("column", "row"))
    x = alt.Scale(domain=[-0.5, columns + 0.5], nice=False, zero=False)
    y = alt.Scale(domain=[rows + _EDGE, -_EDGE], nice=False, zero=False)
    corners: list[dict[str, Any]] = [
        {
            "edge": edge.number,
            "place": place,
            "x": across,
            "y": down,
            "outcome": edge.outcome,
            "colour": OUTCOMES[edge.outcome][0],
        }
        for edge in edges
        for place, (across, down) in enumerate(_corners(edge))
    ]
    colour = alt.Color("colour:N", scale=None, legend=None)
    dashes = alt.Scale(domain=list(OUTCOMES), range=[list(dash) for _, dash in OUTCOMES.values()])
    lines = (
        alt.Chart(alt.InlineData(corners))
        .mark_line(strokeWidth=2)
        .encode(
            x=_x("x", x),
            y=_y("y", y),
            color=colour,
            strokeDash=alt.StrokeDash("outcome:N", scale=dashes, legend=None),
            detail=alt.Detail("edge:N"),
            order=alt.Order("place:Q"),
        )
    )
    # a head is placed by its middle, and its point meets the box
    ends = [{**corner, "y": corner["y"] - 0.035} for corner in corners if corner["place"] == 3]
    head = alt.Chart(alt.InlineData(ends)).mark_point(shape="triangle-down", size=70, filled=True)
    boxes = [
        {
            "label": _LINE_BREAK.join(words),
            "x": node.column,
            "left": node.column - _HALF_WIDTH,
            "right": node.column + _HALF_WIDTH,
            "y": node.row,
            "lines": len(words),
            "top": node.row - _HALF_HEIGHT,
            "bottom": node.row + _HALF_HEIGHT,
        }
        for node in nodes
        if (words := wrap(node.label, _LINE_LETTERS, break_long_words=False, break_on_hyphens=False))
    ]
    base = alt.Chart(alt.InlineData(boxes))
    box = base.mark_rect(fill="#f7f5ef", stroke=MUTED_COLOUR, strokeWidth=1, cornerRadius=4)
    texts = [
        base.mark_text(
            fontSize=12.5,
            lineBreak=_LINE_BREAK,
            lineHeight=_LINE,
            color=TEXT_COLOUR,
            baseline="middle",
            dy=-(number - 1) * _LINE / 2,  # a text of several lines is placed by its first
        )
        .encode(x=_x("x", x), y=_y("y", y), text=alt.Text("label:N"))
        .transform_filter(f"datum.lines == {number}")
        for number in sorted({int(str(each["lines"])) for each in boxes})
    ]
    layers = [
        lines,
        head.encode(x=_x("x", x), y=_y("y", y), color=colour),
        box.encode(x=_x("left", x), x2=alt.X2("right:Q"), y=_y("top", y), y2=alt.Y2("bottom:Q")),
        *texts,
        *_labels(edges, x, y),
    ]
    title = alt.Title(key, anchor="start", fontSize=11.5, fontWeight="normal", color=MUTED_COLOUR, offset=8)
    drawn = vega_lite(alt.layer(*layers).properties(width=_WIDTH, height=_ROW * (rows + 2 * _EDGE), title=title))
    return drawn | {"usermeta": {"narrow": _NARROW_ROW * (rows + 2 * _EDGE)}}


def _x(field: str, scale: "alt.Scale") -> "alt.X":
    return alt.X(f"{field}:Q", scale=scale, axis=None)


def _y(field: str, scale: "alt.Scale") -> "alt.Y":
    return alt.Y(f"{field}:Q", scale=scale, axis=None)


def _corners(edge: GraphEdge) -> list[tuple[float, float]]:
    """The start, the two turns half a row above the end, and the end of an arrow."""
    start = edge.cause.column + _side(edge) * _PORT
    end = edge.effect.column - _side(edge) * _PORT
    top, bottom = edge.cause.row + _HALF_HEIGHT, edge.effect.row - _HALF_HEIGHT
    turn = edge.effect.row - 0.5
    return [(start, top), (start, turn), (end, turn), (end, bottom)]


def _side(edge: GraphEdge) -> int:
    """-1, 0 or 1: whether an arrow goes to the left, straight down, or to the right."""
    return (edge.effect.column > edge.cause.column) - (edge.effect.column < edge.cause.column)


def _labels(edges: Sequence[GraphEdge], x: "alt.Scale", y: "alt.Scale") -> Iterator[Any]:
    """Place the number and the verdicts of an arrow beside its end, on the side where no other arrow ends."""
    on_the_left = set()
    for edge in edges:  # an arrow from the left, unless another one ends there
        others = [_side(other) for other in edges if other.effect == edge.effect and other is not edge]
        if _side(edge) > 0 or (_side(edge) == 0 and -1 in others) or (_side(edge) < 0 and not others):
            on_the_left.add(edge.number)
    for left in (True, False):
        there = [edge for edge in edges if (edge.number in on_the_left) == left]
        widths = (2 * _SYMBOL, _SYMBOL, 0) if left else (0, _NUMBER, _NUMBER + _SYMBOL)
        for part in range(3):
            rows = []
            for edge in there:
                across, down = _corners(edge)[3]
                mark = edge.marks[max(part - 1, 0)]
                row = {"x": across, "y": down - 0.14, "words": mark.words}
                if part == 0:  # the number leads where the intervention does
                    row |= {"text": str(edge.number), "address": edge.marks[1].address, "colour": TEXT_COLOUR}
                else:
                    row |= {"text": mark.symbol, "address": mark.address, "colour": mark.colour}
                rows.append(row)
            marked = alt.Chart(alt.InlineData(rows)).mark_text(
                align="right" if left else "left",
                baseline="middle",
                dx=(-1 if left else 1) * (6 + widths[part]),
                fontSize=14 if part else 12.5,
                fontWeight="bold" if part else "normal",
            )
            if rows:
                yield marked.encode(
                    x=_x("x", x),
                    y=_y("y", y),
                    text=alt.Text("text:N"),
                    href=alt.Href("address:N"),
                    description=alt.Description("words:N"),
                    tooltip=alt.Tooltip("words:N", title="edge"),
                    color=alt.Color("colour:N", scale=None, legend=None),
                )
