"""All verdicts side by side: each claim a row with its seeds, its interval and its accepted range.

One drawing for each kind of number: ratios, exponents, shares of seeds, steps of a grid, and, for numbers that have a
unit, one for each unit. What the numbers of a verdict are, and of which quantity, the verdict says itself.
"""

import math
from collections.abc import Mapping, Sequence

import polars as pl

from lnlab.claims.claim import Measure, Verdict
from lnlab.claims.significance import ALPHA
from lnlab.claims.verdict_text import VERDICT_SYMBOLS, coverage_text, verdict_label
from lnlab.report.charts.axes import linear_axis, logarithmic_axis
from lnlab.report.data.figure import is_finite_number
from lnlab.report.figures.drawing import ForestPlot, diagram_data
from lnlab.report.section import Section
from lnlab.report.words.quantity_words import quantity_name, quantity_unit
from lnlab.seed_words import seeds_word

_POINTS = {"series": pl.String, "verdict": pl.String} | dict.fromkeys(
    ("estimate", "low", "high", "from", "to"), pl.Float64
)
_SEEDS = {"series": pl.String, "seed": pl.Int64, "value": pl.Float64}
_HEADINGS = {"series": "claim", "verdict": "verdict", "estimate": "estimate", "low": "low", "high": "high"}
_WITHOUT_UNIT: Mapping[Measure, str] = {
    "ratio": "ratio",
    "exponent": "exponent",
    "share": "share of {seeds}",
    "steps": "mean error, steps of the grid of learning rates",
    "edges": "edges of a causal graph",
}
_LOG_FROM_RATIO = 20.0
"""The axis of a unit is logarithmic if its largest number is more than this many times its smallest."""


def forest_section(verdicts: Sequence[Verdict]) -> Section | None:
    """A section with a drawing for each scale that the numbers of verdicts have, or None without numbers."""
    groups: dict[tuple[Measure | None, str], list[Verdict]] = {}
    for verdict in (verdict for verdict in verdicts if numbers(verdict)):
        measure = verdict.measure
        if measure is None:  # a verdict that does not say what its numbers are has an axis of its own
            unit = f"{verdict.claim}: {verdict.statistic}"
        elif measure in _WITHOUT_UNIT:
            unit = _WITHOUT_UNIT[measure].format(seeds=seeds_word())
        else:
            unit = f"difference, {_unit(verdict.quantity)}" if measure == "difference" else _unit(verdict.quantity)
        groups.setdefault((measure, unit), []).append(verdict)
    charts = []
    for (measure, unit), group in groups.items():
        title = unit
        names = {v.quantity for v in group}
        if measure in ("value", "difference") and len(names) == 1 and quantity_unit(str(*names)):
            words = quantity_name(str(*names))
            title = f"{'difference of ' if measure == 'difference' else ''}{words}, {_unit(*names)}"
        values = [n for v in group for n in numbers(v)]
        # ratios, and positive numbers that lie far apart
        log = measure == "ratio" or (measure == "value" and max(values) > _LOG_FROM_RATIO * min(values))
        x = logarithmic_axis(f"{title} (log scale)", values) if log and min(values) > 0 else linear_axis(title, values)
        others = [f"{v.claim} {coverage_text(v.level)}" for v in group if v.level != ALPHA]
        levels = f" (95 %{'; ' if others else ''}{', '.join(others)})"
        seeds = [(v.claim, s, n) for v in group for s, n in v.seeds.items() if is_finite_number(n)]
        rows = []
        for verdict in group:  # an unbounded end stops where the axis does
            ends = (verdict.estimate, verdict.low, verdict.high)
            clipped = [None if v is None or math.isnan(v) else min(max(v, x.domain[0]), x.domain[1]) for v in ends]
            low = verdict.region_low if is_finite_number(verdict.region_low) else x.domain[0]
            high = verdict.region_high if is_finite_number(verdict.region_high) else x.domain[1]
            rows.append((verdict.claim, verdict.verdict, *clipped, low, high))
        charts.append(
            ForestPlot(
                data=diagram_data(
                    pl.DataFrame(rows, schema=_POINTS, orient="row"), pl.DataFrame(seeds, schema=_SEEDS, orient="row")
                ),
                x=x,
                symbols={v.verdict: VERDICT_SYMBOLS[v.verdict] for v in group},
                subject=f"Claims about {title}",
                notes=(
                    f"Dots: {seeds_word()}. Bar: estimate and deciding interval{levels}. Shaded: accepted range; a "
                    "one-sided range extends to the end of the axis.",
                ),
                shows="Intervals of the claims beside their accepted ranges",
                finding="; ".join(f"{v.claim}: {verdict_label(v)}" for v in group),
                headings=_HEADINGS,
            )
        )
    return Section("All claims side by side", tuple(charts)) if charts else None


def numbers(verdict: Verdict) -> list[float]:
    """Every finite number of a verdict: seeds, interval and region."""
    bounds = (verdict.estimate, verdict.low, verdict.high, verdict.region_low, verdict.region_high)
    return [v for v in (*verdict.seeds.values(), *bounds) if is_finite_number(v)]


def _unit(name: str | None) -> str:
    """The unit of a quantity, or its name if the glossary does not know it."""
    if name is None:
        return "number"
    return quantity_unit(name) or quantity_name(name)
