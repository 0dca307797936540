"""The numbers of claims as a sorted row of marks: a figure that draws what an answer quotes."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Literal

import polars as pl
from pydantic import Field

from lnlab.claims.claim import Measure, Verdict
from lnlab.claims.verdict_text import coverage_text
from lnlab.errors import ReportError
from lnlab.issues import Issue
from lnlab.report.data.figure import POINT_SCHEMA, SEED_SCHEMA, FigureData, estimate_headings, is_finite_number
from lnlab.report.figures.dots import Dots, dots_finding
from lnlab.report.section import Section, sections
from lnlab.report.theme import MOST_INKED
from lnlab.report.words.statistic import replicates
from lnlab.report.words.wording import even_lines, join_words
from lnlab.seed_words import seeds_word

_TITLE = 40
"""Letters of a line below the axis, as a phone has room for."""
_NO_EFFECT: dict[Measure | None, float] = {"ratio": 1.0, "difference": 0.0, "exponent": 0.0}


@sections.register("estimates")
def estimates(
    verdicts: Sequence[Verdict],
    *,
    estimates: Annotated[dict[str, str], Field(min_length=1)],
    called: str,
    scale: Literal["linear", "log"] | None = None,
    ink: Annotated[list[str], Field(max_length=MOST_INKED)] | None = None,
    lines: dict[str, float] | None = None,
) -> Section:
    """``row -> claim``: the estimate of each claim with the interval that decided it, and its number in each seed.

    ``estimates`` are claims by the name of their row. All have numbers of one measure, which ``called`` names. Ratios
    are on a logarithmic axis by default. ``ink`` is as in ``dots``. ``lines`` are levels by name, by default where
    there is no effect.

    Raises:
        ReportError: claims have different measures, or ``ink`` names none of the rows.
    """
    judged = {verdict.claim: verdict for verdict in verdicts}
    named = {name: judged[claim] for name, claim in estimates.items() if claim in judged}
    measures = {verdict.measure for verdict in named.values() if is_finite_number(verdict.estimate)}
    if len(measures) > 1:
        what = f"claims have numbers of {len(measures)} kinds: {join_words(sorted(map(str, measures)))}"
        raise ReportError(Issue("conflict", "estimates", what, "draw each kind in a section of its own"))
    if ink and not set(ink) & set(estimates):
        what, remedy = f"no row is called {join_words(ink, 'or')}", f"there is {join_words(estimates)}"
        raise ReportError(Issue("unknown-name", "ink", what, remedy))
    drawn = {name: verdict for name, verdict in named.items() if is_finite_number(verdict.estimate)}
    order = sorted(drawn, key=lambda name: (drawn[name].estimate, name))
    if not order:
        return Section("None of these claims has a number yet")
    measure = drawn[order[0]].measure
    log = (scale or ("log" if measure == "ratio" else "linear")) == "log"
    lost = {name: named[name].verdict if name in named else "not judged" for name in estimates if name not in drawn}
    points, seeds = [], []
    for line, name in enumerate(order):
        verdict = drawn[name]
        ends = (end if is_finite_number(end) else None for end in (verdict.low, verdict.high))
        points.append((None, name, line, 0.0, verdict.estimate, *ends, verdict.n))
        # of a share of seeds, a seed has no share
        own = {} if measure == "share" else verdict.seeds
        numbers = sorted((s, v) for s, v in own.items() if is_finite_number(v) and (v > 0 or not log))
        seeds += [(None, name, line, 0.0, seed, number) for seed, number in numbers]
    data = FigureData(
        seeds=pl.DataFrame(seeds, schema=SEED_SCHEMA, orient="row"),
        points=pl.DataFrame(points, schema=POINT_SCHEMA, orient="row"),
        names=(*order, *lost),
        families=tuple([*estimates].index(name) for name in (*order, *lost)),
        missing="",
        rows={},
    )
    levels = sorted({verdict.level for verdict in drawn.values()}, reverse=True)
    covers = " to ".join(map(coverage_text, (levels[0], levels[-1])[: len(levels)]))
    bars = f"bar: {covers} interval" if len(levels) == 1 else f"bars: the intervals that decided, of {covers}"
    figure = Dots(
        data=data,
        title=even_lines(called, _TITLE),
        on_log_axis=log,
        signed=measure == "difference",
        times=measure == "ratio",
        ink=ink,
        lost=lost,
        levels=lines if lines is not None else {"no effect": _NO_EFFECT[measure]} if measure in _NO_EFFECT else {},
        statistic=None,
        subject=f"{called[:1].upper()}{called[1:]}",
        notes=(
            f"Large dots: estimates of claims over {replicates(data.points)}; {bars}.",
            *(() if measure == "share" else (f"Small dots: single {seeds_word()}.",)),
        ),
        shows=f"Dot plot of the {called}, a row for each claim",
        finding="",
        headings={"series": "row", **estimate_headings("estimate", "low", "high")},
    )
    return replace(figure, finding=dots_finding(data.points, figure, f"The {called}")).section()
