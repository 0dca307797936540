"""Many small panels on one scale, with a panel for each method and a line for each depth."""

from dataclasses import dataclass

import polars as pl

from lnlab.keys import Json
from lnlab.report.charts.axes import Axis
from lnlab.report.charts.room import crowded_at_foot
from lnlab.report.charts.small_multiples import NOTE_BREAK, note_height, small_multiples_chart
from lnlab.report.data.profiles import Profiles
from lnlab.report.section import Figure
from lnlab.report.words.quantity_words import quantity_name
from lnlab.report.words.wording import format_short, in_variant, join_words, nonbreaking

_NEAR = 2.0
"""A line whose ends differ by no more than this factor stays near itself."""


@dataclass(frozen=True, kw_only=True)
class SmallMultiples(Figure):
    """Profiles from the first place to the last.

    Attributes:
        y: of all panels.
    """

    data: Profiles
    y: Axis

    def drawing(self) -> dict[str, Json]:
        """A panel says what it cannot show, at its head where lines go through its foot."""
        beyond = lines_beyond(self.points, self.y)
        notes = {
            name: NOTE_BREAK.join(filter(None, (self.data.notes[name], beyond.get(name)))) for name in self.data.panels
        }
        at_head = [
            str(name)
            for (name,), points in self.points.drop_nulls("estimate").partition_by("panel", as_dict=True).items()
            if notes[str(name)] and crowded_at_foot(points, self.y.domain, note_height(notes[str(name)]))
        ]
        return small_multiples_chart(self.data.panels, self.data.names, self.y, notes, at_head)


def lines_beyond(points: pl.DataFrame, y: Axis) -> dict[str, str]:
    """By panel, how far its lines go beyond the axis. Panels whose lines stay on it are left out."""
    value = pl.col("estimate")
    ranges = points.drop_nulls("estimate").group_by("panel").agg(low=value.min(), high=value.max())
    texts = {}
    for panel, low, high in ranges.iter_rows():
        down = f"down to {format_short(low)}" if low < y.domain[0] else ""
        up = f"up to {format_short(high)}" if high > y.domain[1] else ""
        if down or up:
            texts[panel] = ", ".join(filter(None, (down, up)))
    return texts


def multiples_finding(profiles: Profiles, quantity: str, place: str, panel: str) -> str:
    """State in which panels the line with the last name grows or falls most, and in how many it stays near."""
    line = profiles.names[-1]
    ends = {name: profiles.line_ends[name, line] for name in profiles.panels if (name, line) in profiles.line_ends}
    ratios = {name: end.ratio.estimate for name, end in ends.items() if end.ratio is not None}
    span, clauses = f" from the first to the last {place}", []
    if ratios:
        top, low = (pick(ratios, key=lambda name: ratios[name]) for pick in (max, min))
        if ratios[top] > 1:
            clauses.append(
                f"grows most {in_variant(top)} (by a factor of {nonbreaking(format_short(ratios[top]))}{span})"
            )
            span = ""
        if ratios[low] < 1:
            clauses.append(
                f"falls most {in_variant(low)} (to {nonbreaking(format_short(ratios[low]))} times the first{span})"
            )
        near = sum(max(ratio, 1 / ratio) <= _NEAR for ratio in ratios.values())
        clauses.append(f"it stays within a factor of {format_short(_NEAR)} in {near} of {len(ends)} {panel}s")
    for why in dict.fromkeys(end.why for end in ends.values() if end.why):
        clauses.append(f"{why} {in_variant(join_words(name for name, end in ends.items() if end.why == why))}")
    return f"{line}, the {quantity_name(quantity)} {'; '.join(clauses)}"
