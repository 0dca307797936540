"""Chart of a matrix of numbers: a row for each name, a column for each level, and darker cells for larger numbers."""

from collections.abc import Sequence
from itertools import pairwise

from lnlab.keys import Json
from lnlab.report.charts.altair_late import alt
from lnlab.report.charts.legend import quoted
from lnlab.report.charts.vega_lite import vega_lite
from lnlab.report.theme import HEATMAP_COLOURS, TEXT_COLOUR

_CELL_WIDTH, _CELL_HEIGHT, _WIDTH = 96, 30, 640
_PALE = 3
"""On shades up to this one numbers are dark, on darker shades white."""


def matrix_chart(rows: Sequence[str], columns: Sequence[str], title: str, values: Sequence[float]) -> dict[str, Json]:
    """``points`` holds ``series x estimate low high n``: the row's name, and the place of the column from 0 on.

    Shades are even steps between distinct numbers: a grid of learning rates is a scale of its own.

    Args:
        rows: names, downwards.
        columns: names, to the right.
        title: of the columns.
        values: of all cells.
    """
    levels = sorted(set(values))
    steps = [(a + b) / 2 for a, b in pairwise(levels)]
    last = len(HEATMAP_COLOURS) - 1
    shades = [round(place * last / max(len(levels) - 1, 1)) for place in range(len(levels))]
    labels = [quoted(name.replace("\n", " ")) for name in columns]
    words = "".join(f"datum.value === {place} ? {label} : " for place, label in enumerate(labels))
    x = alt.X(
        "x:O",
        scale=alt.Scale(domain=list(range(len(columns))), padding=0.04),
        axis=alt.Axis(title=title, labelExpr=f"{words}''", labelAngle=0, orient="top", domain=False, ticks=False),
    )
    y = alt.Y(
        "series:N",
        sort=list(rows),
        scale=alt.Scale(padding=0.06),
        axis=alt.Axis(title=None, labelLimit=220, grid=False, domain=False, ticks=False, labelFontSize=13),
    )
    colour = alt.Color(
        "estimate:Q",
        scale=alt.Scale(type="threshold", domain=steps, range=[HEATMAP_COLOURS[shade] for shade in shades])
        # a scale of thresholds needs one: cells that are all alike have one colour
        if steps
        else alt.Scale(range=[HEATMAP_COLOURS[0]] * 2),
        legend=None,
    )
    tips = [alt.Tooltip("series:N", title="of")]
    tips += [alt.Tooltip(f"{name}:Q", title=name, format=".3~r") for name in ("estimate", "low", "high", "n")]
    base = alt.Chart(alt.NamedData("points")).encode(x=x, y=y)
    # without a dark cell a number beyond all, as the expression needs one
    dark_from = next((step for step, shade in zip(steps, shades[1:], strict=True) if shade > _PALE), float("1e300"))
    text_colour = alt.condition(f"datum.estimate > {dark_from!r}", alt.value("#ffffff"), alt.value(TEXT_COLOUR))
    cells = base.mark_rect().encode(color=colour, tooltip=tips)
    numbers = base.mark_text(fontSize=13).encode(text=alt.Text("estimate:Q", format=".3~g"), color=text_colour)
    width = min(_WIDTH, _CELL_WIDTH * len(columns))
    return vega_lite(alt.layer(cells, numbers).properties(width=width, height=_CELL_HEIGHT * len(rows)))
