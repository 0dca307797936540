"""No two series of a figure share a colour, on any committed page."""

import json
import re

from lnlab.report.theme import GREY
from tests.report.committed import PAGES

_SPEC = re.compile(r'<script type="application/json" id="(figure-[\w-]+)-spec">(.*?)</script>', re.S)
_OF_SERIES = re.compile(r"datum\.series === '((?:[^'\\]|\\.)*)'")


def nodes(value):
    """Every object of a drawing but those of its data."""
    if isinstance(value, dict):
        yield value
        value = [inner for key, inner in value.items() if key != "datasets"]
    for inner in value if isinstance(value, list) else ():
        yield from nodes(inner)


def drawn_series(spec):
    points = spec["datasets"].get("points", [])
    if isinstance(points, dict):  # packed
        return set(points["words"].get("series", []))
    return {row["series"] for row in points if row.get("series") is not None}


def shared_colours(spec):
    """Pairs of series and colour where two series have one colour, or where a series has none of its own."""
    flawed = set()
    of_panels = {}
    for node in nodes(spec):
        colour = node.get("color")
        if isinstance(colour, dict) and colour.get("field") == "series" and "domain" in colour.get("scale", {}):
            domain, colours = colour["scale"]["domain"], colour["scale"]["range"]
            several = {used for used in colours if colours.count(used) > 1} - {GREY}  # what a figure does not ink
            flawed |= {(name, used) for name, used in zip(domain, colours, strict=True) if used in several}
            flawed |= {(name, None) for name in drawn_series(spec) - {*domain}}
        mark, filters = node.get("mark"), json.dumps(node.get("transform", []), ensure_ascii=False)
        if "concat" in spec and isinstance(mark, dict) and mark.get("type") == "line" and "color" in mark:
            for name in _OF_SERIES.findall(filters):
                of_panels.setdefault(mark["color"], set()).add(name)
    return flawed | {(name, used) for used, names in of_panels.items() if len(names) > 1 for name in names}


def test_series_of_every_committed_figure_have_colours_of_their_own():
    compared, flawed = 0, {}
    for page in PAGES:
        for figure, text in _SPEC.findall(page.read_text()):
            spec = json.loads(text)
            compared += len(drawn_series(spec)) > 1
            if shared := shared_colours(spec):
                flawed[page.parts[-3], figure] = shared
    assert flawed == {}
    assert compared > 100
