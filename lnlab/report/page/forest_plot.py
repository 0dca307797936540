"""All verdicts side by side: each claim a row with its seeds, its interval and its declared region."""

import math
from collections.abc import Callable, Sequence

import polars as pl

from lnlab.claims.claim import Verdict
from lnlab.report.charts import line_charts
from lnlab.report.charts.axes import Axis, linear, logarithmic
from lnlab.report.page.answers import SYMBOLS
from lnlab.report.page.verdict_strip import finite
from lnlab.report.section import Chart, Section

POINTS = {"series": pl.String, "verdict": pl.String} | dict.fromkeys(
    ("estimate", "low", "high", "from", "to"), pl.Float64
)
SEEDS = {"series": pl.String, "seed": pl.Int64, "value": pl.Float64}
HEADINGS = {"series": "claim", "verdict": "verdict", "estimate": "estimate", "low": "95 % low", "high": "95 % high"}


def forest(verdicts: Sequence[Verdict]) -> Section | None:
    """One drawing for ratios, on a logarithmic axis, one for exponents and differences; None without numbers."""
    judged = [v for v in verdicts if numbers(v)]
    ratios = [v for v in judged if v.statistic != "exponent" and min(numbers(v)) > 0]
    others = [v for v in judged if v not in ratios]
    drawn = [
        _chart(group, axis, title, what)
        for group, axis, title, what in (
            (ratios, logarithmic, "ratio (log scale)", "ratios and other positive numbers"),
            (others, linear, "exponent or difference", "exponents and differences"),
        )
        if group
    ]
    return Section("All claims side by side", tuple(drawn)) if drawn else None


def numbers(verdict: Verdict) -> list[float]:
    """Every finite number of a verdict: seeds, interval and region."""
    ends = (verdict.estimate, verdict.low, verdict.high, verdict.region_low, verdict.region_high)
    return [v for v in (*verdict.seeds.values(), *ends) if finite(v)]


def _chart(group: Sequence[Verdict], axis: Callable[..., Axis], title: str, what: str) -> Chart:
    x = axis(title, [n for v in group for n in numbers(v)])
    names = [f"{SYMBOLS.get(v.verdict, '?')} {v.claim}" for v in group]
    rows = [_row(name, v, x) for name, v in zip(names, group, strict=True)]
    seeds = [(name, s, n) for name, v in zip(names, group, strict=True) for s, n in v.seeds.items() if finite(n)]
    points = pl.DataFrame(rows, schema=POINTS, orient="row")
    told = "; ".join(f"{v.claim}: {v.verdict}" for v in group)
    caption = (
        f"Claims about {what}. Dots are seeds, the bar is the 95 % interval with its estimate, the shaded region is "
        "what the spec declares; a region without an edge ends with the axis."
    )
    return Chart(
        line_charts.forest(names, x),
        points,
        pl.DataFrame(seeds, schema=SEEDS, orient="row"),
        HEADINGS,
        f"Intervals of the claims beside their declared regions. {told}.",
        caption,
        log=x.log,
    )


def _row(name: str, verdict: Verdict, x: Axis) -> tuple[object, ...]:
    ends = [_inside(v, x) for v in (verdict.estimate, verdict.low, verdict.high)]
    low = verdict.region_low if finite(verdict.region_low) else x.domain[0]
    high = verdict.region_high if finite(verdict.region_high) else x.domain[1]
    return (name, verdict.verdict, *ends, low, high)


def _inside(value: float | None, x: Axis) -> float | None:
    """An unbounded end stops where the axis does."""
    if value is None or math.isnan(value):
        return None
    return min(max(value, x.domain[0]), x.domain[1])
