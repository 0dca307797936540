"""A drawing without what a still picture does not need: the same pixels in far fewer bytes."""

import struct
import zlib
from xml.etree import ElementTree

import numpy as np
import pytest
import vl_convert

from lnlab.report.charts import render
from lnlab.report.charts.lean_svg import lean_svg

VALUES = [{"x": x, "y": x**0.5 / 3, "s": s} for x in range(12) for s in ("one", "two")]
LINES = {
    "data": {"values": VALUES},
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
    """A PNG of 8 bits and 4 channels without interlacing (W3C, Portable Network Graphics, 9.2) as height x 4 width."""
    place, chunks = 8, {}
    while place < len(png):
        (length,) = struct.unpack(">I", png[place : place + 4])
        name = png[place + 4 : place + 8]
        chunks[name] = chunks.get(name, b"") + png[place + 8 : place + 8 + length]
        place += 12 + length
    width, height, depth, colour, _, _, interlaced = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    assert (depth, colour, interlaced) == (8, 6, 0)
    lines = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(height, 4 * width + 1).astype(int)
    image = np.zeros((height, width, 4), int)
    above = np.zeros((width, 4), int)
    for row, line in enumerate(lines):
        filtered, raw = line[1:].reshape(width, 4), image[row]
        left, corner = np.zeros(4, int), np.zeros(4, int)
        for column in range(width):
            up = above[column]
            guess = left + up - corner
            distances = np.abs(guess - np.stack([left, up, corner]))
            paeth = np.where(
                (distances[0] <= distances[1]) & (distances[0] <= distances[2]),
                left,
                np.where(distances[1] <= distances[2], up, corner),
            )
            predicted = (0, left, up, (left + up) // 2, paeth)[line[0]]
            raw[column] = (filtered[column] + predicted) % 256
            left, corner = raw[column], up
        above = raw
    return image.reshape(height, -1)


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
