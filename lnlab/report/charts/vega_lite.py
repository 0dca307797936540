"""Convert Altair's objects to Vega-Lite with the theme of all drawings."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from lnlab.keys import Json
from lnlab.report.charts.altair_late import alt
from lnlab.report.theme import THEME


def vega_lite(chart: Any, **config: Json) -> dict[str, Json]:
    """The drawing with the theme. ``config`` replaces entries of the theme.

    It is not checked against the schema: the tests do that with every drawing.
    """
    spec: Mapping[str, Json] = chart.to_dict(validate=False)
    return {**spec, "config": {**THEME, **config}}


@contextmanager
def unchecked() -> Iterator[None]:
    """Inside this context, Altair makes its objects without checking them against its schema."""
    # The checks take longer than all else of a drawing, and find mistakes of code alone: the tests draw with them.
    with alt.utils.schemapi.debug_mode(False):
        yield
