"""One verdict as a small drawing: the seeds as dots, their interval as a bar, the accepted range behind it."""

import math
from dataclasses import dataclass

from lnlab.claims.claim import Verdict
from lnlab.report.data.figure import is_finite_number
from lnlab.report.words.wording import format_number, format_value
from lnlab.seed_words import counted_seeds, seeds_word

WIDTH, EDGE = 200.0, 12.0
_LONGEST_LABEL = 8
_LABEL_ROOM = 55.0
"""Points that two labels side by side take up, both of the usual four or five characters."""
_ROUNDING = 1e-5
"""Numbers nearer to each other than this are one, up to the rounding of single precision."""


@dataclass(frozen=True)
class VerdictStrip:
    """Places along a line of ``WIDTH`` points. An unbounded region ends where the line does."""

    seeds: tuple[float, ...]
    estimate: float | None
    bar: tuple[float, float] | None
    region: tuple[float, float]
    edges: tuple[tuple[float, str], ...]
    alt: str

    @property
    def labels(self) -> tuple[tuple[float, str], ...]:
        """The labels below the edges. Two edges that are too near each other share one label."""
        if len(self.edges) < 2 or abs(self.edges[1][0] - self.edges[0][0]) >= _LABEL_ROOM:
            return self.edges
        (low, low_text), (high, high_text) = self.edges
        both = low_text if low_text == high_text else f"{low_text} to {high_text}"
        return ((round((low + high) / 2, 1), both),)


def verdict_strip(verdict: Verdict) -> VerdictStrip | None:
    """The drawing of a verdict, or None where it has no finite number. Positive numbers lie on a logarithmic line."""
    seeds, marks, edges = (
        [number for number in group if is_finite_number(number)]
        for group in (
            verdict.seeds.values(),
            (verdict.estimate, verdict.low, verdict.high),
            (verdict.region_low, verdict.region_high),
        )
    )
    if not seeds and not marks:
        return None
    numbers = [*seeds, *marks, *edges]
    log = min(numbers) > 0

    def along(value: float) -> float:
        return math.log(value) if log else value / 2  # a half, so that no difference is infinite

    low, high = along(min(numbers)), along(max(numbers))
    span = high - low
    if span <= _ROUNDING * (1.0 if log else max(abs(low), abs(high))):  # one number: in the middle
        low, span = low - 0.5, 1.0

    def place(value: float) -> float:
        return round(EDGE + (along(value) - low) / span * (WIDTH - 2 * EDGE), 1)

    bar = (
        (place(verdict.low), place(verdict.high))
        if is_finite_number(verdict.low) and is_finite_number(verdict.high)
        else None
    )
    labelled = []
    for edge in edges:  # as the spec has it; one that no spec has written, such as 1/1.5, to three digits
        text = format_value(edge)
        labelled.append((place(edge), text if len(text) <= _LONGEST_LABEL else format_number(edge)))
    scale = " on a logarithmic line" if log else ""
    alt = f"The interval and the accepted range{scale}, without values of single {seeds_word()}."
    if seeds:
        spread = f"from {format_number(min(seeds))} to {format_number(max(seeds))}"
        alt = f"{counted_seeds(len(seeds))}, {spread}, their interval and the accepted range{scale}."
    return VerdictStrip(
        seeds=tuple(place(v) for v in sorted(seeds)),
        estimate=place(verdict.estimate) if is_finite_number(verdict.estimate) else None,
        bar=bar,
        region=(
            place(verdict.region_low) if is_finite_number(verdict.region_low) else 0.0,
            place(verdict.region_high) if is_finite_number(verdict.region_high) else WIDTH,
        ),
        edges=tuple(labelled),
        alt=alt,
    )
