"""A small drawing of a figure for the index: the marks of its first panel, drawn for the size that is seen."""

from collections.abc import Mapping
from typing import Any

from lnlab.keys import Json

WIDTH, HEIGHT = 168, 96
"""Points of the plot. The index shows it at its own size."""
_BARE_AXIS = {"labels": False, "ticks": False, "grid": False, "domain": True, "title": None, "offset": 0}
_WITH_LEGEND = ("color", "fill", "stroke", "strokeDash", "shape", "opacity", "size")


def thumbnail_spec(spec: Mapping[str, Json]) -> dict[str, Json]:
    """The first panel of a drawing without words: no title, no numbers at the axes, no legend, no text beside marks.

    Args:
        spec: Vega-Lite with its data inside, as ``page.figures.spec_with_data`` makes it.
    """
    rows = dict(spec["datasets"])
    view: Mapping[str, Any] = next((spec[name][0] for name in ("vconcat", "hconcat", "concat") if name in spec), spec)
    if "facet" in view:
        key, order = view["facet"].get("field"), view["facet"].get("sort")
        if key and isinstance(order, list) and order:
            panel = order[0]
            rows = {name: [row for row in data if row.get(key, panel) == panel] for name, data in rows.items()}
        view = {**({"data": view["data"]} if "data" in view else {}), **view["spec"]}
    drawn = _without_words({name: part for name, part in view.items() if name not in ("datasets", "title", "usermeta")})
    read = _names_of_data(drawn)
    return {
        **drawn,
        "$schema": spec["$schema"],
        "width": WIDTH,
        "height": HEIGHT,
        "padding": 2,
        "config": spec.get("config", {}),
        "datasets": {name: data for name, data in rows.items() if name in read},
    }


def _without_words(view: Mapping[str, Any]) -> dict[str, Json]:
    """A view without marks of text, and without points where lines show the same values."""
    # a scale is stated in the first layer that has it, and that may be left out
    scales: dict[str, Json] = {}
    for layer in view.get("layer", ()):
        parts = {channel: layer.get("encoding", {}).get(channel, {}) for channel in ("x", "y")}
        scales = {channel: part["scale"] for channel, part in parts.items() if "scale" in part} | scales
    layers = [_without_words(layer) for layer in view.get("layer", ()) if not _is_of_words(layer)]
    for layer in layers:
        for channel, scale in scales.items():
            if "field" in layer.get("encoding", {}).get(channel, {}):
                layer["encoding"][channel].setdefault("scale", scale)
    if "line" in map(_mark, layers):
        layers = [layer for layer in layers if _mark(layer) != "point"]
    encoding = {}
    for channel, part in view.get("encoding", {}).items():
        if channel in ("x", "y"):
            encoding[channel] = {**part, "axis": _BARE_AXIS}
        elif channel in _WITH_LEGEND and isinstance(part, Mapping):
            encoding[channel] = {**part, "legend": None}
        elif channel != "tooltip":
            encoding[channel] = part
    return {**view, **({"layer": layers} if layers else {}), **({"encoding": encoding} if encoding else {})}


def _is_of_words(layer: Mapping[str, Any]) -> bool:
    """Whether a layer has words, or the short lines that lead from a series to its name beside the plot."""
    mark = layer.get("mark")
    return _mark(layer) == "text" or (isinstance(mark, Mapping) and "x2Offset" in mark)


def _mark(view: Mapping[str, Any]) -> str:
    mark = view.get("mark", "")
    return str(mark["type"] if isinstance(mark, Mapping) else mark)


def _names_of_data(view: Mapping[str, Any]) -> set[str]:
    names = {view["data"]["name"]} if view.get("data", {}).get("name") else set()
    return names.union(*map(_names_of_data, view.get("layer", ())))
