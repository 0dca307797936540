"""What a source prints, as marks beside our own numbers; a number that would flatten ours is said in words instead."""

import math
from collections.abc import Mapping, Sequence
from typing import Annotated

from lnlab.keys import Json
from lnlab.parameters import TextForm
from lnlab.report.data.figure import FigureData, finite_numbers
from lnlab.report.data.table_cells import Digits
from lnlab.report.words.wording import count_noun, format_value, join_words

PRINTED = "printed by the source"
_Place = Annotated[str, TextForm(r"last|-?\d+(\.\d+)?", 'last, or a number in quotes: "6"')]
PublishedPoints = Mapping[str, Mapping[_Place, float | Digits]]
"""``{series: {x: number}}``; ``last`` is the last place that the series is drawn at."""
_MOST_STRETCH = 2.0
"""How many times as long the vertical axis may become."""


def published_marks(
    published: PublishedPoints, series: FigureData, *, log: bool
) -> tuple[Sequence[Mapping[str, Json]], tuple[str, ...]]:
    """Marks ``series x y source``, and sentences for the caption: what the marks are, and which numbers have none.

    Args:
        published: what the source prints.
        series: what is drawn.
        log: whether the vertical axis is logarithmic.
    """
    ours = [value for value in finite_numbers(series.points, "estimate", "low", "high") if value > 0 or not log]
    placed: list[tuple[str, str, float, float | str]] = []
    strays = 0
    for name, numbers in published.items():
        places = series.points.filter(series=name)["x"].to_list()
        for written, number in numbers.items():
            x = max(places, default=math.nan) if written == "last" else float(written)
            if x in places:
                where = {"last": f"{name}, at the end"}.get(written, f"{name}, at {written}")
                placed.append((name, where, x, number))
            else:
                strays += 1
    on_axis = [entry for entry in placed if float(entry[-1]) > 0 or not log]
    scaled = [math.log(value) if log else value for value in ours]
    longer = [*scaled, *(math.log(float(y)) if log else float(y) for *_, y in on_axis)]
    if max(longer, default=0) - min(longer, default=0) > _MOST_STRETCH * (max(scaled) - min(scaled)):
        on_axis = []
    drawn = [{"series": name, "x": x, "y": float(y), "source": PRINTED} for name, _, x, y in on_axis]
    beyond = [
        f"{y if isinstance(y, str) else format_value(y)} ({where})"
        for _, where, _, y in [entry for entry in placed if entry not in on_axis]
    ]
    notes = [f"Rings: {PRINTED}."] if drawn else []
    if beyond:
        notes.append(f"{f'Also {PRINTED}' if drawn else PRINTED.capitalize()}, beyond the axis: {join_words(beyond)}.")
    if strays:
        verb = "has" if strays == 1 else "have"
        notes.append(f"{count_noun(strays, 'published number')} {verb} no place here.")
    return drawn, tuple(notes)
