"""A number against a bound: in expectation, for all x, with some probability, or exactly for every sample.

In expectation the seed's number is tested by Student's interval, on the log scale for positive quantities. With
``over`` and no ``reduce`` the bound is for all x: the largest (smallest) value within the seed is tested against the
upper (lower) edge, both edges by intersection-union. An exact bound is contradicted by one counterexample.
"""

from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field

from lnlab.analyse.select.reductions import RATIOS, Reduce
from lnlab.analyse.select.series import series
from lnlab.claims.claim import Finding, claims
from lnlab.claims.exact import every_sample
from lnlab.claims.intersection_union import Member, together
from lnlab.claims.region import Region, region
from lnlab.claims.sample import Sample, counted, least, notes, obstacle, of_one, single
from lnlab.claims.sites import Each, at, places
from lnlab.claims.student import measured, signs
from lnlab.keys import Json
from lnlab.tables import Results


@claims.register("bound")
def bound(
    results: Results,
    *,
    of: dict[str, Json],
    over: str | None = None,
    reduce: Reduce | None = None,
    each: Each = None,
    between: tuple[float, float] | None = None,
    at_least: float | None = None,
    at_most: float | None = None,
    scale: Literal["log", "linear"] = "log",
    probability: Annotated[float, Field(gt=0, lt=1)] | None = None,
    exact: bool = False,
    tolerance: Annotated[float, Field(ge=0)] = 1e-5,
) -> Finding:
    """``low <= y <= high``: a number, its reduction along x, or all along x, within bounds (Student, 1908).

    ``exact`` holds every single sample to the bound, up to ``tolerance`` relative to the edge (1e-5 suits float32,
    1e-10 float64). ``probability: p`` asks that a seed keeps the bound with at least that chance (Clopper & Pearson,
    1934). ``scale: linear`` is for numbers that may be negative. With ``each: [layer, ...]`` the bound holds for every
    place that these columns tell apart; an exact one does so as it is.
    """
    allowed = region(between, at_least, at_most, positive=scale == "log" and not exact)
    if exact:
        return every_sample(results, of, over, allowed, tolerance)
    log = scale == "log" and probability is None
    members = [
        _member(results, {**of, **site}, over, reduction, edge, site, log=log)
        for site in places(results, of, each)
        for reduction, edge in _reductions(over, reduce, allowed)
    ]
    if probability is not None:
        return _probable(members, allowed, probability)
    finding = together(members, least(members[0].sample))
    finding = replace(finding, measure=finding.measure or ("ratio" if reduce in RATIOS else None))
    return replace(finding, reason=finding.reason + _tightness(finding, members[0].sample, allowed))


def _reductions(over: str | None, reduce: Reduce | None, allowed: Region) -> list[tuple[Reduce | None, Region]]:
    """The reductions along x, each with the edges that it is tested against."""
    if over is None or reduce is not None:
        return [(reduce, allowed)]
    upper: list[tuple[Reduce | None, Region]] = [] if allowed.high is None else [("max", Region(high=allowed.high))]
    return upper + ([] if allowed.low is None else [("min", Region(low=allowed.low))])


def _member(
    results: Results,
    of: dict[str, Json],
    over: str | None,
    reduction: Reduce | None,
    edge: Region,
    site: dict[str, Json],
    *,
    log: bool,
) -> Member:
    observed = series(results, of, over, reduction)
    statistic = at(f"{reduction} over {over}" if reduction else "value", site)
    return Member(statistic, of_one(observed, single(observed), log=log), edge)


def _probable(members: list[Member], allowed: Region, probability: float) -> Finding:
    """Whether seeds keep the bound with at least that probability; a seed that breaks it shows the number that does."""
    first = members[0]
    worst = {
        seed: next((m.sample.numbers[seed] for m in members if m.sample.numbers[seed] not in allowed), number)
        for seed, number in first.sample.numbers.items()
    }
    sample = replace(first.sample, numbers=worst)
    if reason := obstacle(sample, 1):
        return replace(measured(first.statistic, sample, allowed), reason=reason + notes(sample))
    return signs(first.statistic, sample, allowed, probability)


def _tightness(finding: Finding, sample: Sample, allowed: Region) -> str:
    """Measured over bound, where there is one edge and both are positive: else their ratio means nothing."""
    edges = [edge for edge in (allowed.low, allowed.high) if edge]
    if len(edges) != 1 or finding.estimate is None or min(finding.estimate, *edges) <= 0 or counted(sample):
        return ""
    return f"; tightness (measured/bound) {finding.estimate / edges[0]:.3g}"
