"""Convert Altair's objects to Vega-Lite with the theme of all drawings."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from lnlab.keys import Json
from lnlab.report.charts.altair_late import alt
from lnlab.report.theme import THEME


def vega_lite(chart: Any, **config: Json) -> dict[str, Json]:
    """The drawing with the theme. ``config`` replaces entries of the theme.

    It is not checked against the schema: the tests do that with every drawing.
    """
    spec: dict[str, Json] = chart.to_dict(validate=False)
    say_axes_once(spec)
    return {**spec, "config": {**THEME, **config}}


def say_axes_once(spec: Json) -> None:
    """Leave scale and axis of x and y to the first layer that has them: they are a quarter of a drawing's text.

    Layers share both, and Vega-Lite takes what one of them states before what it would choose for the others.
    """
    for name in ("layer", "vconcat", "hconcat", "concat", "spec"):
        inner = spec.get(name, [])
        for view in [inner] if isinstance(inner, dict) else inner:
            say_axes_once(view)
    stated: dict[tuple[str, str], Json] = {}
    for layer in spec.get("layer", []):
        for channel in ("x", "y"):
            encoding = layer.get("encoding", {}).get(channel, {})
            for part in ("scale", "axis"):
                if part not in encoding:
                    continue
                if (channel, part) not in stated:
                    stated[channel, part] = encoding[part]
                elif encoding[part] == stated[channel, part]:
                    del encoding[part]


@contextmanager
def unchecked() -> Iterator[None]:
    """Inside this context, Altair makes its objects without checking them against its schema."""
    # The checks take longer than all else of a drawing, and find mistakes of code alone: the tests draw with them.
    with alt.utils.schemapi.debug_mode(False):
        yield
