"""A figure of a page as PDF, at the width of a paper."""

import re
from collections.abc import Mapping

from lnlab.keys import Json
from lnlab.report.charts.render import svg_to_pdf, to_svg

COLUMN, TEXT = 234.0, 486.0
"""Points of 3.25 and 6.75 inches: a column and both of them, as in most two-column styles."""
_SCALE = 7.5 / 13  # the page's titles of 13 pixels become 7.5 points, its labels of 12 become 6.9
_SIZE = re.compile(r'width="(?P<width>[\d.]+)" height="(?P<height>[\d.]+)"')


def drawn_pdf(spec: Mapping[str, Json]) -> tuple[bytes, float]:
    """The drawing as PDF (version 1.5), no wider than the text, and its width in points.

    Args:
        spec: Vega-Lite with its data.

    Raises:
        ReportError: the drawing is not valid.
    """
    svg = to_svg(spec)
    match = _SIZE.search(svg)
    if match is None:
        raise RuntimeError("an SVG without width and height")
    width, height = map(float, match.groups())
    scale = min(_SCALE, TEXT / width)
    # coordinates stay as they are: the view box scales them
    sized = _SIZE.sub(f'width="{scale * width:.2f}" height="{scale * height:.2f}"', svg, count=1)
    return svg_to_pdf(sized), scale * width
