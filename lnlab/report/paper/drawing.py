"""A figure at the width of a paper: laid out again for that width, with letters of 7 to 8 points.

A page's drawing is 800 pixels wide with letters of 12 and 13 pixels. Scaled down as it stands, its letters would be 4
points high in a column. So the panels become narrower, then the legend and the panels take more rows, and all of it is
scaled by one factor.
"""

import re
from collections.abc import Mapping
from itertools import product
from typing import Any, Literal

from lnlab.errors import ReportError
from lnlab.issues import Issue
from lnlab.keys import Json
from lnlab.report.charts.render import svg_to_pdf, to_svg

Width = Literal["column", "text"]
POINTS: Mapping[Width, float] = {"column": 234.0, "text": 486.0}
"""3.25 and 6.75 inches of 72 points: a column and both of them, as in most two-column styles."""
SERIF = "Liberation Serif, Times New Roman, Times, serif"
_SCALE = 7.5 / 13  # the page's titles of 13 pixels become 7.5 points, its labels of 12 become 6.9
_LOWEST = 0.7  # the lowest panel, of its height on the page
_NARROWEST = 84.0  # pixels: below it, labels of an axis run together
_ROUNDING = 5.0  # each panel of a row is drawn in whole pixels
_LAYOUTS = ("spec", "layer", "vconcat", "hconcat", "concat")
_SIZE = re.compile(r'width="(?P<width>[\d.]+)" height="(?P<height>[\d.]+)"')


def drawn_pdf(spec: Mapping[str, Json], width: Width, *, serif: bool = False) -> tuple[bytes, Width]:
    """The drawing as PDF, at most as wide as asked for.

    Args:
        spec: Vega-Lite with its data.
        width: of a column or of the text.
        serif: set it in a typeface with serifs, as most papers are.

    Returns:
        the PDF (version 1.5), and the width it has: ``text`` where its panels find no room in a column.

    Raises:
        ReportError: the drawing is not valid, or too wide for the text.
    """
    plain = {**spec, "config": {**spec.get("config", {}), "font": SERIF}} if serif else dict(spec)
    most = int(plain.get("columns", 1))
    widths: tuple[Width, ...] = ("column", "text") if width == "column" else ("text",)
    # the fewest rows of panels that fit, and of these the fewest rows of the legend
    for target, panels, entries in product(widths, range(most, 0, -1), (None, 4, 3, 2, 1)):
        room = POINTS[target] / _SCALE
        candidate = _with_legend_columns({**plain, "columns": panels} if most > 1 else plain, entries, room)
        if (svg := _narrowed(candidate, room)) is not None:
            points = [pixels * _SCALE for pixels in _size(svg)]
            # coordinates stay as they are: the view box scales them
            return svg_to_pdf(_SIZE.sub('width="{:.2f}" height="{:.2f}"'.format(*points), svg, count=1)), target
    raise ReportError(
        Issue("too-large", "figure", "finds no room in the width of the text", "show fewer panels or series")
    )


def _narrowed(spec: Mapping[str, Json], width: float) -> str | None:
    """The drawing with panels of the width that makes it fit exactly, or None where they would be too narrow."""
    views = _view_widths(spec)
    full = to_svg(spec)
    if not views:
        return full if _width(full) <= width else None
    # the width of the whole is a straight line in that of the panels, but for a legend that is the wider
    half = _width(to_svg(_with_views(spec, 0.5)))
    slope = 2 * (_width(full) - half)
    if slope <= 0:
        return None
    for aim in (width, width - _ROUNDING):
        factor = min(1.0, 1 - (_width(full) - aim) / slope)
        if factor * min(views) < min(_NARROWEST, *views):
            return None
        if _width(svg := to_svg(_with_views(spec, factor))) <= width:
            return svg
    return None


def _view_widths(spec: Mapping[str, Json]) -> list[float]:
    own = [float(spec["width"])] if isinstance(spec.get("width"), int | float) else []
    return own + [
        width
        for inner in [view for name in _LAYOUTS if name in spec for view in _listed(spec[name])]
        for width in _view_widths(inner)
    ]


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _with_views(spec: Mapping[str, Json], factor: float) -> dict[str, Json]:
    """Every panel so much narrower, and lower by the same factor as far as that leaves it readable."""
    changed = dict(spec)
    for name, share in (("width", factor), ("height", max(_LOWEST, factor))):
        if isinstance(spec.get(name), int | float):
            changed[name] = spec[name] * share
    for name in _LAYOUTS:
        if name in spec:
            views = [_with_views(view, factor) for view in _listed(spec[name])]
            changed[name] = views if isinstance(spec[name], list) else views[0]
    return changed


def _with_legend_columns(spec: Mapping[str, Json], entries: int | None, width: float) -> dict[str, Json]:
    """Set the entries in a row of a legend, none wider than the drawing. None keeps their number on the page."""

    def changed(value: Any) -> Any:
        if isinstance(value, list):
            return [changed(item) for item in value]
        if not isinstance(value, dict):
            return value
        parts = {name: item if name == "datasets" else changed(item) for name, item in value.items()}
        if isinstance(value.get("legend"), dict):
            limit = {"labelLimit": width / (entries or 1) - 30}
            parts["legend"] = {**parts["legend"], **limit, **({"columns": entries} if entries else {})}
        return parts

    every = changed(dict(spec))
    config = dict(every.get("config", {}))
    legend = changed({"legend": dict(config.get("legend", {}))})
    return {**every, "config": {**config, **legend}}


def _width(svg: str) -> float:
    return _size(svg)[0]


def _size(svg: str) -> tuple[float, float]:
    match = _SIZE.search(svg)
    if match is None:
        raise RuntimeError("an SVG without width and height")
    return float(match["width"]), float(match["height"])
