"""Whole models as boxes and arrows, from the input at the bottom to the output at the top.

A box stands one row above the highest that it reads. Boxes of one row stand beside each other. A path past others
leaves the line below, passes on the right and enters from the side.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lnlab.keys import Json
from lnlab.report.charts.altair_late import alt
from lnlab.report.charts.panels import side_by_side
from lnlab.report.charts.vega_lite import vega_lite
from lnlab.report.theme import MUTED_COLOUR, TEXT_COLOUR

_WIDTH, _ROW, _COLUMNS, _NARROWEST = 170, 48, 4, 138
"""Width of a panel and distance between rows in points, the most panels beside each other, and the width of a panel
where two stand beside each other on a phone.
"""
_HALF_HEIGHT, _HALF_WIDTH, _HALF_OF_SEVERAL, _PAST, _ASIDE = 0.31, 0.66, 0.31, 0.86, 0.6
"""Of boxes in rows and in halves of a panel, where a path past others runs, and where what happens on it stands. Every
text fits into its box in the narrowest panel.
"""
_FILLS = {"module": "#fdebd3", "norm": "#d9ecdf", "function": "#f7f5ef"}


def module_graph_chart(panels: Sequence[Mapping[str, Json]]) -> dict[str, Json]:
    """The panels, wrapped to the page. They are plain data, as ``nn.module_graph.panels_to_json`` writes them."""
    placed = [_placed(panel["nodes"]) for panel in panels]
    top = max(y for places in placed for _, y in places)
    marks = [
        {"panel": panel["name"], **mark}
        for panel, places in zip(panels, placed, strict=True)
        for mark in _marks(panel, places)
    ]
    x = alt.X("x:Q", scale=alt.Scale(domain=[-1, 1], nice=False, zero=False), axis=None)
    y = alt.Y("y:Q", scale=alt.Scale(domain=[-0.4, top + 0.9], nice=False, zero=False), axis=None)
    base = alt.Chart().encode(x=x, y=y)

    def only(mark: str) -> Any:
        return base.transform_filter(f"datum.mark === '{mark}'")

    # no mark but words has a role: a panel may lack it, and the alternative text says what is drawn
    ends = {"x2": alt.X2("x2:Q"), "y2": alt.Y2("y2:Q")}
    line = only("line").mark_line(strokeWidth=1.4, color=MUTED_COLOUR, aria=False)
    drawn = [
        only("frame")
        .mark_rect(filled=False, stroke=MUTED_COLOUR, strokeDash=[4, 3], cornerRadius=4, aria=False)
        .encode(**ends),
        line.encode(detail=alt.Detail("way:N"), order=alt.Order("place:Q")),
    ]
    # a head is placed by its middle, and its point meets the edge; of a circle the edge is at a distance in pixels
    for mark, shape, offset in (
        ("up", "triangle-up", {"yOffset": 3}),
        ("up to a sum", "triangle-up", {"yOffset": 15}),
        ("left", "triangle-left", {"xOffset": 3}),
        ("left to a sum", "triangle-left", {"xOffset": 14}),
        ("right", "triangle-right", {"xOffset": -3}),
    ):
        head = only(mark).mark_point(filled=True, shape=shape, size=36, aria=False, **offset)
        drawn.append(head.encode(color=alt.value(MUTED_COLOUR)))
    box = only("box").mark_rect(stroke=MUTED_COLOUR, strokeWidth=1, cornerRadius=4, aria=False)
    drawn.append(box.encode(**ends, fill=alt.Fill("fill:N", scale=None, legend=None)))
    circle = only("circle").mark_point(
        shape="circle", filled=True, size=380, stroke=MUTED_COLOUR, strokeWidth=1, aria=False
    )
    drawn.append(circle.encode(fill=alt.value(_FILLS["function"])))
    for mark, size, colour, align in (
        ("text", 12, TEXT_COLOUR, "center"),
        ("detail", 10, TEXT_COLOUR, "center"),
        ("small", 9, TEXT_COLOUR, "center"),
        ("count", 11, MUTED_COLOUR, "left"),
    ):
        text = only(mark).mark_text(fontSize=size, color=colour, align=align, baseline="middle", aria=mark == "text")
        drawn.append(text.encode(text=alt.Text("label:N")))
    layers = alt.layer(*drawn, data=alt.InlineData(marks)).properties(width=_WIDTH, height=_ROW * (top + 1.3))
    return vega_lite(side_by_side(layers, [panel["name"] for panel in panels], _COLUMNS, spacing=14, padding=4))


def _placed(nodes: Sequence[Mapping[str, Json]]) -> list[tuple[float, float]]:
    """The middle of each box.

    The encoder's output stands on the left, a little below its reader. What happens to the stream on its way past a
    sublayer stands on the right, in a row of its own, so that both have room.
    """
    before: list[set[int]] = []
    for node in nodes:
        before.append({j for i in node["inputs"] for j in (i, *before[i])})
    boxes = [i for i, node in enumerate(nodes) if node["operation"] in ("module", "norm")]
    aside = {
        i
        for i, node in enumerate(nodes)
        if node["operation"] in ("function", "sum")
        and any(j not in before[i] and set(nodes[j]["inputs"]) & set(node["inputs"]) for j in boxes)
    }
    late = [i for i, node in enumerate(nodes) if i and node["operation"] == "input" and node["label"] == "encoder"]
    rows: list[int] = []
    for i, node in enumerate(nodes):
        row = 1 + max((rows[j] for j in node["inputs"] if j not in late and (j not in aside or i in aside)), default=-1)
        for j in aside & set(node["inputs"]) - (aside if i in aside else set()):
            row = max(row, rows[j]) + 1
            rows[j] = row - 1
        rows.append(row)
    places: list[tuple[float, float]] = []
    for i, node in enumerate(nodes):
        if i in late:
            reader = next(j for j, other in enumerate(nodes) if i in other["inputs"])
            places.append((-_PAST, rows[reader] - 0.5))
            continue
        beside = [j for j in range(len(nodes)) if rows[j] == rows[i] and j not in late and j not in aside]
        below = [nodes[j]["inputs"][0] if nodes[j]["inputs"] else -1 for j in beside]
        if i in aside:
            x = _ASIDE
        elif len(beside) == 1:
            x = 0.0
        elif -1 not in below and len(set(below)) == len(beside):  # each above what it reads
            x = places[node["inputs"][0]][0]
        else:
            x = -0.66 + 1.32 * beside.index(i) / (len(beside) - 1)
        places.append((x, float(rows[i])))
    return places


def _marks(panel: Mapping[str, Json], places: Sequence[tuple[float, float]]) -> Iterator[dict[str, Any]]:
    """Yield frames and lines first, so that boxes cover their ends."""
    rows = [y for _, y in places]
    alone = [rows.count(y) == 1 for y in rows]
    for first, last, _, text in panel["frames"]:
        within = rows[first : last + 1]
        yield {"mark": "frame", "x": -1, "x2": 1, "y": math.ceil(min(within)) - 0.6, "y2": max(within) + 0.41}
        yield {"mark": "count", "x": -0.97, "y": max(within) + 0.2, "label": text}
    for reader, node in enumerate(panel["nodes"]):
        x, y = places[reader]
        is_sum = node["operation"] == "sum"
        half = 0 if is_sum else _half_width(x, alone=alone[reader])
        for source in node["inputs"]:
            (x1, y1), way = places[source], f"{source}-{reader}"
            between = any(y1 < row < y and x == other for other, row in places)
            if x1 == x and not between:
                corners = [(x1, y1), (x, y)]
            elif x == _ASIDE and is_sum:
                corners = [(x1, y1), (x1, y1 + 0.5), (_PAST, y1 + 0.5), (_PAST, y), (x, y)]
            elif x == _ASIDE:
                corners = [(x1, y1), (x1, y1 + 0.5), (_PAST, y1 + 0.5), (_PAST, y)]
            elif x1 == -_PAST:  # from above its name
                corners = [(x1, y1 + 0.14), (x1, y), (x, y)]
            elif x1 == _ASIDE:
                corners = [(x1, y1), (x1, y), (x, y)]
            elif y - y1 == 1:
                corners = [(x1, y1), (x1, y - 0.5), (x, y - 0.5), (x, y)]
            else:  # boxes above may be as wide as those that stand beside each other are far apart
                past = -_PAST if x1 < 0 else _PAST
                corners = [(x1, y1), (x1, y1 + 0.5), (past, y1 + 0.5), (past, y), (x, y)]
            for place, corner in enumerate(corners):
                yield {"mark": "line", "way": way, "place": place, "x": corner[0], "y": corner[1]}
            to_sum = " to a sum" if is_sum else ""
            if corners[-2][1] != y:
                yield {"mark": f"up{to_sum}", "x": corners[-1][0], "y": y - (0 if is_sum else _HALF_HEIGHT)}
            elif corners[-2][0] > x:
                yield {"mark": f"left{to_sum}", "x": x + half, "y": y}
            else:
                yield {"mark": "right", "x": x - half, "y": y}
    if panel["nodes"]:
        x, y = places[-1]
        yield from ({"mark": "line", "way": "out", "place": n, "x": x, "y": y + n * 0.8} for n in (0, 1))
        yield {"mark": "up", "x": x, "y": y + 0.8}
    for place, node in enumerate(panel["nodes"]):
        x, y = places[place]
        operation = str(node["operation"])
        half = _half_width(x, alone=alone[place])
        if operation == "sum":
            yield {"mark": "circle", "x": x, "y": y}
        elif operation != "input":
            ends = {"x": x - half, "x2": x + half, "y": y - _HALF_HEIGHT, "y2": y + _HALF_HEIGHT}
            yield {"mark": "box", **ends, "fill": _FILLS[operation]}
        counted = alone[place] and x == 0 and node["parameters"]
        size = node["detail"] or (f"{_short(node['parameters'])} parameters" if counted else "")
        if operation == "input" and x == -_PAST:  # between the boxes beside it, whose edge is near
            yield {"mark": "count", "x": -0.97, "y": y, "label": node["label"]}
            continue
        yield {
            "mark": "text" if 6 * len(node["label"]) < _NARROWEST * half else "detail",
            "x": x,
            "y": y + (0.13 if size else -0.14 if operation == "input" else 0),
            "label": node["label"],
        }
        if size:
            yield {"mark": "detail" if alone[place] and x == 0 else "small", "x": x, "y": y - 0.14, "label": size}


def _half_width(x: float, *, alone: bool) -> float:
    return 0.38 if x == _ASIDE else _HALF_WIDTH if alone else _HALF_OF_SEVERAL


def _short(number: int) -> str:
    """``256``, ``65.9k``, ``2.1M``: as short as a box is narrow."""
    for size, letter in ((1_000_000, "M"), (10_000, "k")):
        if number >= size:
            return f"{number / (1000 if letter == 'k' else size):.3g}{letter}"
    return f"{number:,}"
