"""A legend that shows each series as it is drawn: a stretch of its line, with its dashes, and its mark upon it.

Vega draws a legend's symbol as one filled path, so that line and mark are one path here, and the path is the range of a
scale that nothing but the legend reads: marks on the lines have their shape by a condition.
"""

from collections.abc import Sequence
from typing import Any

from lnlab.report.charts.altair_late import alt
from lnlab.report.theme import SeriesStyle

_HALF_LENGTH, _HALF_WIDTH, _RADIUS = 18.0, 1.1, 5.0
_SIZE = 100
_UNIT = _SIZE**0.5 / 2
"""Pixels of one unit of a path: Vega scales the square from -1 to 1 to a symbol of this size."""
_OUTLINES = {
    "square": ((-0.85, -0.85), (0.85, -0.85), (0.85, 0.85), (-0.85, 0.85)),
    "triangle-up": ((0, -1), (1, 0.8), (-1, 0.8)),
    "triangle-down": ((0, 1), (-1, -0.8), (1, -0.8)),
    "triangle-right": ((1, 0), (-0.8, 1), (-0.8, -1)),
    "triangle-left": ((-1, 0), (0.8, -1), (0.8, 1)),
    "diamond": ((0, -1.15), (1.15, 0), (0, 1.15), (-1.15, 0)),
    "cross": (
        (-0.35, -1), (0.35, -1), (0.35, -0.35), (1, -0.35), (1, 0.35), (0.35, 0.35),
        (0.35, 1), (-0.35, 1), (-0.35, 0.35), (-1, 0.35), (-1, -0.35), (-0.35, -0.35),
    ),
}  # fmt: skip
"""Corners in units of the radius, clockwise on the screen like the dashes, so that no overlap is a hole."""
_WIDE_ENTRY, _LETTER, _WIDTH = 60, 6.6, 780


def series_legend(style: SeriesStyle) -> dict[str, Any] | None:
    """The legend of colour and shape together, or None for a single series."""
    if len(style.series) < 2:
        return None
    widest = _WIDE_ENTRY + _LETTER * max(map(len, style.series))
    columns = min(3 if len(style.series) == 3 else 2, max(1, int(_WIDTH // widest)))
    return {
        "columns": columns,
        "symbolSize": _SIZE,
        "symbolOpacity": 1,
        "symbolStrokeWidth": 0,
        # Vega leaves room for a symbol of this size, and a line is longer on either side
        "symbolOffset": _HALF_LENGTH - _UNIT,
        "labelOffset": _HALF_LENGTH - _UNIT + 6,
        "columnPadding": 22,
    }


def series_colour(style: SeriesStyle, *, legend: bool = True) -> "alt.Color":
    """The colour of each series, with the legend unless lines are named at their ends."""
    scale = {"domain": list(style.series), "range": list(style.colours)}
    return alt.Color("series:N", scale=scale, legend=series_legend(style) if legend else None)


def legend_shape(style: SeriesStyle, *, dashes: bool = True, marks: bool = True) -> "alt.Shape":
    """What an invisible layer carries for the legend: each series' line and mark as a path.

    Args:
        style: of the series.
        dashes: whether dashes tell the series apart. If not, the line is solid.
        marks: whether marks do.
    """
    paths = [
        symbol_path(dash if dashes else (1, 0), shape if marks else None)
        for dash, shape in zip(style.dashes, style.shapes, strict=True)
    ]
    return alt.Shape("series:N", scale={"domain": list(style.series), "range": paths}, legend=series_legend(style))


def mark_shape(style: SeriesStyle) -> "alt.ShapeValue":
    """The shape of the marks of each series, without a scale and so without a legend of its own."""
    conditions = [
        {"test": f"datum.series === {quoted(name)}", "value": shape}
        for name, shape in zip(style.series, style.shapes, strict=True)
    ]
    return alt.ShapeValue(value="circle", condition=conditions)


def quoted(text: str) -> str:
    """A text as a string in an expression of Vega."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n") + "'"


def symbol_path(dash: Sequence[int], shape: str | None) -> str:
    """A line with these dashes and this mark in its middle, as an SVG path in units of a symbol."""
    pieces = [
        _polygon([(a, -_HALF_WIDTH), (b, -_HALF_WIDTH), (b, _HALF_WIDTH), (a, _HALF_WIDTH)]) for a, b in _strokes(dash)
    ]
    if shape == "circle":
        r = _number(_RADIUS)
        # two half circles, as an arc from a point to itself is nothing
        pieces.append(f"M-{r},0A{r},{r},0,1,1,{r},0A{r},{r},0,1,1,-{r},0Z")
    elif shape is not None:
        pieces.append(_polygon([(_RADIUS * x, _RADIUS * y) for x, y in _OUTLINES[shape]]))
    return "".join(pieces)


def _strokes(dash: Sequence[int]) -> list[tuple[float, float]]:
    """The drawn stretches of a dashed line, in pixels from its middle."""
    if len(dash) < 2 or not any(dash[1::2]):
        return [(-_HALF_LENGTH, _HALF_LENGTH)]
    strokes = []
    place = -_HALF_LENGTH
    turn = 0
    while place < _HALF_LENGTH:
        end = place + dash[turn % len(dash)]
        if turn % 2 == 0:
            strokes.append((place, min(end, _HALF_LENGTH)))
        place, turn = end, turn + 1
    return strokes


def _polygon(corners: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{_number(x)},{_number(y)}" for x, y in corners) + "Z"


def _number(pixels: float) -> str:
    return f"{round(pixels / _UNIT, 3):g}"
