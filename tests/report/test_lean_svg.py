"""A drawing without what a still picture does not need: the same pixels in far fewer bytes."""

import io
from xml.etree import ElementTree

import numpy as np
import pytest
import vl_convert
from PIL import Image

from lnlab.report.charts import render
from lnlab.report.charts.lean_svg import lean_svg

LINES = {
    "data": {"values": [{"x": x, "y": x**0.5 / 3, "s": s} for x in range(12) for s in ("one", "two")]},
    "description": 'Two roots <&> "quoted"',
    "width": 90,
    "height": 60,
    "encoding": {
        "x": {"field": "x", "type": "quantitative", "scale": {"domain": [2, 9]}},
        "y": {"field": "y", "type": "quantitative"},
        "color": {"field": "s", "type": "nominal"},
    },
    "layer": [{"mark": {"type": "line", "clip": True}}, {"mark": {"type": "point", "opacity": 0}}],
}
TILES = {
    "data": {"values": [{"x": i % 7, "y": i // 7, "v": i} for i in range(49)]},
    "mark": "rect",
    "encoding": {
        "x": {"field": "x", "type": "ordinal"},
        "y": {"field": "y", "type": "ordinal"},
        "color": {"field": "v", "type": "quantitative"},
    },
}


def pixels(png):
    """Height x width x 4."""
    return np.asarray(Image.open(io.BytesIO(png))).astype(int)


@pytest.mark.parametrize("spec", [LINES, TILES], ids=["lines", "tiles"])
def test_the_pixels_are_the_same(spec):
    full = vl_convert.vegalite_to_svg(spec, vl_version=render.VEGA_LITE, allowed_base_urls=[])
    lean = lean_svg(full, "a picture")
    one, other = (pixels(vl_convert.svg_to_png(svg)) for svg in (full, lean))
    assert one.shape == other.shape
    assert np.abs(one - other).max() <= 64, "an edge moves by a twentieth of a pixel at most"
    assert (one > 0).any()


@pytest.mark.parametrize("spec", [LINES, TILES], ids=["lines", "tiles"])
def test_it_has_far_fewer_bytes_and_says_what_it_shows(spec):
    full = vl_convert.vegalite_to_svg(spec, vl_version=render.VEGA_LITE, allowed_base_urls=[])
    lean = render.to_svg(spec)
    assert len(lean) < 0.6 * len(full)
    root = ElementTree.fromstring(lean)
    described = [element.text for element in root if element.tag.endswith("desc")]
    assert described == ([spec["description"]] if "description" in spec else [])


def test_a_clipped_line_keeps_its_clip():
    root = ElementTree.fromstring(render.to_svg(LINES))
    clips = [element for element in root.iter() if element.tag.endswith("clipPath")]
    assert clips
    assert all(len(clip) == 1 for clip in clips)
