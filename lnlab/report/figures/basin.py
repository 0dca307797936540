"""A basin: medians and single runs over a path of the setting, and at the bad edge how many runs diverged."""

import math
from dataclasses import dataclass, replace

import polars as pl

from lnlab.keys import Json
from lnlab.report.charts.axes import Axis, linear_axis
from lnlab.report.charts.learning_rate_basin import basin_chart
from lnlab.report.data.basin_runs import BetterEnd, SweepRuns
from lnlab.report.data.labels import SINGLE_SERIES
from lnlab.report.figures.findings import not_told_apart
from lnlab.report.section import Figure
from lnlab.report.words.quantity_words import quantity_name
from lnlab.report.words.wording import MAX_NAMED, format_short, format_value, in_variant, join_words
from lnlab.seed_words import seeds_word

_ROW_HEIGHT = 0.07
"""The height of a row of crosses, as a share of the axis."""


@dataclass(frozen=True, kw_only=True)
class Basin(Figure):
    """Runs over a path of the setting.

    Attributes:
        x: the path.
        title: of the vertical axis.
        best: which end of the numbers is good.
    """

    data: SweepRuns
    x: Axis
    title: str
    best: BetterEnd
    replicate: str = "run"

    @property
    def marks(self) -> tuple[str, str]:
        """Lines without a band, as the lowest and the highest run are dots."""
        return "Lines", ""

    def drawing(self) -> dict[str, Json]:
        """Draw over all finite numbers, with room for a row of crosses for each series that lost runs."""
        lost = [name for name in self.data.names if name in set(self.data.diverged["series"])]
        finite = [value for value in self.seeds["value"] if math.isfinite(value)] or [0.0, 1.0]
        axis = linear_axis(self.title, finite)
        low, high = axis.domain
        height = _ROW_HEIGHT * (high - low)
        room = (len(lost) + 0.5) * height if lost else 0.0
        start, sign = (high + room, -1) if self.best == "lowest" else (low - room, 1)
        crosses = [
            {
                "series": name,
                "x": x,
                "y": start + sign * (lost.index(name) + 0.5) * height,
                "label": f"{count}/{total}",
            }
            for name, x, count, total in self.data.diverged.select("series", "x", "gone", "runs").iter_rows()
        ]
        y = replace(axis, domain=(low, start) if self.best == "lowest" else (start, high))
        return basin_chart(self.x, y, self.data.style, crosses, self.data.chosen)


def at_the_edge(runs: SweepRuns, best: BetterEnd) -> list[str]:
    """The series whose best median lies at the smallest or the largest value of their grid."""
    found = []
    for name in runs.names:
        line = runs.points.filter(pl.col("series") == name)
        ranked = line.drop_nulls("estimate").sort("estimate", descending=best == "highest", maintain_order=True)
        if line["x"].n_unique() > 1 and not ranked.is_empty() and ranked["x"][0] in (line["x"].min(), line["x"].max()):
            found.append(name)
    return found


def basin_finding(runs: SweepRuns, over: str, best: BetterEnd, quantity: str) -> str:
    """State where each series has its best median, and whether that is an edge of its grid."""
    optima: dict[str, tuple[float, str]] = {}  # the best place of a series, and which edge of the grid it is
    failed, clauses = [], []
    named = quantity_name(quantity)
    for name in runs.names:
        line = runs.points.filter(pl.col("series") == name)
        ranked = line.drop_nulls("estimate").sort("estimate", descending=best == "highest", maintain_order=True)
        if ranked.is_empty():
            failed.append(name)
            continue
        x, value = ranked.select("x", "estimate").row(0)
        edges = {line["x"].min(): "smallest", line["x"].max(): "largest"} if line["x"].n_unique() > 1 else {}
        optima[name] = (x, edges.get(x, ""))
        who = f"the best {over} is" if name == SINGLE_SERIES else f"{name} is best at the {over}"
        runs_at = {at: runs.seeds.filter(series=name, x=at) for at in ranked["x"]}
        # what was chosen on tuning seeds is a decision, not a finding
        others = () if runs.chosen else ranked["x"][1:]
        alike = [at for at in others if not_told_apart(runs_at[x], runs_at[at])]
        if alike:
            note = " up to the edge of the grid; the optimum may lie beyond it" if edges.keys() & {x, *alike} else ""
            values = join_words(map(format_value, sorted([x, *alike])), "or")
            clauses.append(
                f"{who} {values}, indistinguishable over {seeds_word()} "
                f"({named} {format_short(value)}){note and ',' + note}"
            )
            continue
        note = f", the {edges[x]} of the grid; the optimum may lie beyond it" if x in edges else ""
        clauses.append(f"{who} {format_value(x)} ({named} {format_short(value)}){note}")
    if len(clauses) > MAX_NAMED:
        low, high = (pick(optima, key=lambda name: optima[name][0]) for pick in (min, max))
        smallest, largest = format_value(optima[low][0]), format_value(optima[high][0])
        span = f"the best {over} ranges from {smallest} ({low}) to {largest} ({high})"
        if smallest == largest:
            span = f"the best {over} is {smallest} in each of {len(clauses)} variants"
        at_edge = sum(edge != "" for _, edge in optima.values())
        note = f"{at_edge} of {len(clauses)} {'lies' if at_edge == 1 else 'lie'} on the edge of the grid"
        clauses = [span, note] if at_edge else [span]
    if failed:
        names = join_words(failed) if len(failed) <= MAX_NAMED else f"{len(failed)} variants"
        of_series = "" if failed == [SINGLE_SERIES] else f" {in_variant(names)}"
        clauses.append(f"half of the runs{of_series} diverged at every {over}")
    text = "; ".join(clauses)
    return text[:1].upper() + text[1:]
