"""Sublayers of a Transformer side by side, each as boxes and arrows from the stream below to the stream above.

The path through the sublayer goes straight up. A path past it leaves the line below, passes on the right and enters
from the side. The stream from below the layer passes on the left.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from lnlab.keys import Json
from lnlab.report.charts.altair_late import alt
from lnlab.report.charts.panels import side_by_side
from lnlab.report.charts.vega_lite import vega_lite
from lnlab.report.data.dataflow import Dataflow, FlowNode, main_path
from lnlab.report.theme import MUTED_COLOUR, TEXT_COLOUR

_WIDTH, _ROW, _COLUMNS = 150, 46, 5
"""Width of a panel and distance between operations in points, and the most panels in a row."""
_HEADS = (
    ("head", "triangle-up", 0),
    ("head from the right", "triangle-left", 15),
    ("head from the left", "triangle-right", -15),
)
"""The heads of arrows, with their pixels from the middle of what they enter: panels are as wide as there is room."""
LINE_BREAK = "|"
"""Between two lines of a note."""
_PAST, _RADIUS, _DROP = 0.78, 0.27, 0.12
"""x of a path past the sublayer. In rows: half a circle's height, and how far an input's name lies below its line."""
_BOXES = {
    "sublayer": ("#fdebd3", 0.3),
    "norm": ("#d9ecdf", 0.3),
    "factor": ("#f7f5ef", 0.25),
    "shift": ("#f7f5ef", 0.25),
}
"""Fill of the box of each operation, and half its height, in rows."""
_HALF_WIDTH, _HALF_LETTER, _MARGIN = 0.5, 0.05, 0.08
"""Half the width of the box of a sublayer or norm, half the width of a letter in the other boxes, and their margin. The
unit is half the narrowest panel that a page draws, so that no word is wider than its box."""


@dataclass(frozen=True)
class ArchitecturePanel:
    """One panel: its name, what stands below it, and the graph."""

    name: str
    note: str
    flow: Dataflow


def architecture_chart(panels: Sequence[ArchitecturePanel]) -> dict[str, Json]:
    """The panels, wrapped to the page, the input at the bottom."""
    rows = max(len(main_path(panel.flow)) for panel in panels)
    marks = [{"panel": panel.name, **mark} for panel in panels for mark in _marks(panel)]
    x = alt.Scale(domain=[-1, 1], nice=False, zero=False)
    y = alt.Scale(domain=[-1, rows + 0.1], nice=False, zero=False)
    base = alt.Chart().encode(x=alt.X("x:Q", scale=x, axis=None), y=alt.Y("y:Q", scale=y, axis=None))
    line = _only(base, "line").mark_line(strokeWidth=1.6, color=MUTED_COLOUR)
    drawn = [line.encode(detail=alt.Detail("way:N"), order=alt.Order("place:Q"))]
    for mark, shape, offset in _HEADS:
        head = _only(base, mark).mark_point(filled=True, shape=shape, size=42, xOffset=offset, aria=False)
        drawn.append(head.encode(color=alt.value(MUTED_COLOUR)))
    box = _only(base, "box").mark_rect(stroke=MUTED_COLOUR, strokeWidth=1, cornerRadius=4)
    drawn.append(box.encode(x2=alt.X2("x2:Q"), y2=alt.Y2("y2:Q"), fill=alt.Fill("fill:N", scale=None, legend=None)))
    circle = _only(base, "circle").mark_point(
        shape="circle", filled=True, size=430, stroke=MUTED_COLOUR, strokeWidth=1, aria=False
    )
    drawn.append(circle.encode(fill=alt.value("#f7f5ef")))
    text = _only(base, "text").mark_text(fontSize=12, color=TEXT_COLOUR, baseline="middle")
    note = _only(base, "note").mark_text(fontSize=11, color=MUTED_COLOUR, baseline="middle", lineBreak=LINE_BREAK)
    drawn += [text.encode(text=alt.Text("label:N")), note.encode(text=alt.Text("label:N"))]
    layers = alt.layer(*drawn, data=alt.InlineData(marks))
    panel = layers.properties(width=_WIDTH, height=_ROW * rows)
    chart = side_by_side(panel, [panel.name for panel in panels], _COLUMNS, spacing=14, padding=4)
    return vega_lite(chart)


def _only(base: Any, mark: str) -> Any:
    return base.transform_filter(f"datum.mark === '{mark}'")


def _marks(panel: ArchitecturePanel) -> Iterator[dict[str, Any]]:
    """Yield lines first, so that boxes cover their ends."""
    path = main_path(panel.flow)
    places = _places(panel.flow, path)
    for reader in path:
        for source in panel.flow[reader].inputs:
            if source in path and path.index(reader) == path.index(source) + 1:
                corners = [places[source], places[reader]]
            else:
                corners = _way_past(panel.flow, source, path, places, places[reader])
            yield from _line(f"{source}-{reader}", corners, panel.flow[reader])
    top = places[path[-1]]
    yield from _line("out", [top, (top[0], top[1] + 1)], FlowNode("input", ""))
    for node, (x, y) in zip(panel.flow, places, strict=True):
        if node.operation in _BOXES:
            fill, half_height = _BOXES[node.operation]
            # of a parameter the box is as wide as its name, which may be long
            named = node.operation in ("factor", "shift")
            half_width = _MARGIN + _HALF_LETTER * len(node.label) if named else _HALF_WIDTH
            ends = {"x": x - half_width, "x2": x + half_width, "y": y - half_height, "y2": y + half_height}
            yield {"mark": "box", **ends, "fill": fill}
        elif node.operation == "sum":
            yield {"mark": "circle", "x": x, "y": y}
        yield {"mark": "text", "x": x, "y": y - (_DROP if node.operation == "input" else 0), "label": node.label}
    yield {"mark": "note", "x": 0, "y": -0.75, "label": panel.note}


def _places(flow: Dataflow, path: Sequence[int]) -> list[tuple[float, float]]:
    """The middle of each operation: those of the path above each other, the others beside it, halfway up their way."""
    places: list[tuple[float, float]] = []
    for place, node in enumerate(flow):
        if place in path:
            places.append((0.0, float(path.index(place))))
            continue
        reader = next(i for i, other in enumerate(flow) if place in other.inputs)
        above = float(path.index(reader)) if reader in path else float(len(path))
        below = float(path.index(node.inputs[0])) + 0.5 if node.inputs and node.inputs[0] in path else -0.5
        places.append((_PAST, (above + below) / 2) if node.inputs else (-_PAST, 0.0))
    return places


def _way_past(
    flow: Dataflow,
    source: int,
    path: Sequence[int],
    places: Sequence[tuple[float, float]],
    end: tuple[float, float],
) -> list[tuple[float, float]]:
    """The corners of a way to ``end`` that does not go through the sublayer."""
    across = _PAST if source in path else places[source][0]
    if source not in path and not flow[source].inputs:
        return [places[source], (across, end[1]), end]
    start = places[source if source in path else flow[source].inputs[0]]
    turn = start[1] + 0.5
    return [(start[0], turn), (across, turn), (across, end[1]), end]


def _line(way: str, corners: Sequence[tuple[float, float]], node: FlowNode) -> Iterator[dict[str, Any]]:
    """A line through these corners, and the head of the arrow where it meets the edge of what it enters."""
    for place, (x, y) in enumerate(corners):
        yield {"mark": "line", "way": way, "place": place, "x": x, "y": y}
    (x1, y1), (x2, y2) = corners[-2:]
    if y1 == y2:
        yield {"mark": "head from the right" if x1 > x2 else "head from the left", "x": x2, "y": y2}
    else:
        edge = _BOXES[node.operation][1] if node.operation in _BOXES else _RADIUS if node.operation == "sum" else 0
        # a head is placed by its middle, and its point meets the edge
        yield {"mark": "head", "x": x2, "y": y2 - edge - 0.06}
