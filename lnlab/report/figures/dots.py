"""A sorted row of marks for each variant, with its number, which may be a difference from a named reference."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import polars as pl

from lnlab.keys import Json
from lnlab.report.charts.axes import linear_axis, logarithmic_axis
from lnlab.report.charts.dot_rows import dot_rows_chart, side_of
from lnlab.report.data.figure import finite_numbers
from lnlab.report.section import Figure
from lnlab.report.theme import GREY, MOST_INKED
from lnlab.report.words.wording import number_on_mark

_LETTER = 0.0155
"""Half of a letter of a number on its mark, as a share of the width that a phone has."""
_REACH: Mapping[str, tuple[int, int]] = {"center": (-1, 1), "left": (0, 2), "right": (-2, 0)}
"""Where a text beside its mark begins and ends, in halves of its length, by how it is aligned."""
_MOST_DECADES = 6
"""Ticks of a logarithmic axis whose words fit side by side on a phone."""


@dataclass(frozen=True, kw_only=True)
class Dots(Figure):
    """Rows from the top in the order of ``data.names``.

    Attributes:
        title: of the axis, a line each.
        on_log_axis: whether the axis is logarithmic.
        signed: whether the numbers are differences.
        times: whether they are ratios.
        reference: the row that the others are compared with, if it is one of them.
        ink: rows with a colour. None means all of at most ``MOST_INKED``, else the first and the last.
        lost: what stands in place of a mark, by row.
        levels: upright lines, by name.
    """

    title: Sequence[str]
    on_log_axis: bool = False
    signed: bool = False
    times: bool = False
    reference: str = ""
    ink: Collection[str] | None = None
    lost: Mapping[str, str] = field(default_factory=dict)
    levels: Mapping[str, float]
    seeds_drawn: bool = True

    @property
    def marks(self) -> tuple[str, str]:
        """Large dots with bars; the small ones are seeds."""
        return "Large dots", "bar"

    def number(self, estimate: float, low: float | None, high: float | None) -> str:
        """A number on its mark."""
        return number_on_mark(estimate, low, high, times=self.times, signed=self.signed)

    def drawing(self) -> dict[str, Json]:
        """As ``charts.dot_rows.dot_rows_chart``, with room for a number above the outermost marks."""
        names, data = self.data.names, self.data
        numbers = [*data.seeds["value"], *finite_numbers(data.points, "estimate", "low", "high"), *self.levels.values()]
        make = logarithmic_axis if self.on_log_axis else linear_axis
        levels = [{"x": at, "name": name} for name, at in self.levels.items()]
        texts: list[dict[str, Json]] = []
        span, room = (max(numbers) / min(numbers) if self.on_log_axis else max(numbers) - min(numbers)), []
        for series, estimate, low, high in data.points.select("series", "estimate", "low", "high").iter_rows():
            words = "reference" if series == self.reference else self.number(estimate, low, high)
            side = side_of(words, estimate, levels, make("", numbers))
            texts.append({"series": series, "x": estimate, "text": words, "side": side})
            for share in (_LETTER * len(words) * reach for reach in _REACH[side]):
                room.append(estimate * span**share if self.on_log_axis else estimate + share * span)
        x = make("", [*numbers, *room])
        if self.on_log_axis and len(x.ticks) > _MOST_DECADES:
            # every second one, and 1 among them, which is often where there is no effect
            x = replace(x, ticks=x.ticks[x.ticks.index(1.0) % 2 if 1.0 in x.ticks else 0 :: 2])
        place = (x.domain[0] * x.domain[1]) ** 0.5 if self.on_log_axis else sum(x.domain) / 2
        texts += [{"series": name, "x": place, "text": words, "side": "center"} for name, words in self.lost.items()]
        inked = (names if len(names) <= MOST_INKED else (names[0], names[-1])) if self.ink is None else self.ink
        hues = dict(zip(data.style.series, data.style.colours, strict=True))
        colours = {name: hues[name] if name in inked and name != self.reference else GREY for name in names}
        return dot_rows_chart(colours, x, self.title, texts, levels)


def dots_finding(points: pl.DataFrame, drawn: Dots, what: str) -> str:
    """State the lowest and the highest number, with their rows."""
    ranked = points.filter(pl.col("series") != drawn.reference).sort("estimate", maintain_order=True)
    ends = [ranked.row(place, named=True) for place in dict.fromkeys((0, ranked.height - 1))]
    words = [f"{drawn.number(end['estimate'], end['low'], end['high'])} ({end['series']})" for end in ends]
    return f"{what} is {words[0]}" if len(words) == 1 else f"{what} lies between {words[0]} and {words[1]}"
