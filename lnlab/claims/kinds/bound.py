"""A number against a bound: in expectation, for all x, with some probability, or exactly for every sample.

In expectation the seed's number is tested by Student's interval, on the log scale for positive quantities. With
``over`` and no ``reduce`` the bound is for all x: the largest (smallest) value within the seed is tested against the
upper (lower) edge, both edges by intersection-union. An exact bound is contradicted by one counterexample.
"""

from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field

from lnlab.analyse.select.reductions import RATIO_REDUCTIONS, Reduction
from lnlab.analyse.select.series import select_series
from lnlab.claims.claim import Finding, claims
from lnlab.claims.exact import exact_bound_finding
from lnlab.claims.intersection_union import Member, intersection_union
from lnlab.claims.region import Region, declared_region
from lnlab.claims.sample import (
    Sample,
    exclusion_notes,
    min_seeds,
    one_number_per_seed,
    reason_counted,
    reason_undecided,
    series_sample,
)
from lnlab.claims.sites import SiteColumns, site_conditions, statistic_at
from lnlab.claims.student import sign_test_finding, undecided_finding
from lnlab.keys import Json
from lnlab.tables import Results


@claims.register("bound", no_effect=lambda claim: 1.0 if claim.get("reduce") in RATIO_REDUCTIONS else None)
def bound(
    results: Results,
    *,
    of: dict[str, Json],
    over: str | None = None,
    reduce: Reduction | None = None,
    each: SiteColumns = None,
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
    allowed = declared_region(between, at_least, at_most, positive=scale == "log" and not exact)
    if exact:
        return exact_bound_finding(results, of, over, allowed, tolerance)
    log = scale == "log" and probability is None
    members = [
        _member(results, {**of, **site}, over, reduction, edge, site, log=log)
        for site in site_conditions(results, of, each)
        for reduction, edge in _reductions(over, reduce, allowed)
    ]
    if probability is not None:
        return _probable(members, allowed, probability)
    finding = intersection_union(members, min_seeds(members[0].sample))
    finding = replace(finding, measure=finding.measure or ("ratio" if reduce in RATIO_REDUCTIONS else None))
    return replace(finding, reason=finding.reason + _tightness(finding, members[0].sample, allowed))


def _reductions(over: str | None, reduce: Reduction | None, allowed: Region) -> list[tuple[Reduction | None, Region]]:
    """The reductions along x, each with the edges that it is tested against."""
    if over is None or reduce is not None:
        return [(reduce, allowed)]
    upper: list[tuple[Reduction | None, Region]] = [] if allowed.high is None else [("max", Region(high=allowed.high))]
    return upper + ([] if allowed.low is None else [("min", Region(low=allowed.low))])


def _member(
    results: Results,
    of: dict[str, Json],
    over: str | None,
    reduction: Reduction | None,
    edge: Region,
    site: dict[str, Json],
    *,
    log: bool,
) -> Member:
    observed = select_series(results, of, over, reduction)
    statistic = statistic_at(f"{reduction} over {over}" if reduction else "value", site)
    return Member(statistic, series_sample(observed, one_number_per_seed(observed), log=log), edge)


def _probable(members: list[Member], allowed: Region, probability: float) -> Finding:
    """Whether seeds keep the bound with at least that probability; a seed that breaks it shows the number that does."""
    first = members[0]
    worst = {
        seed: next((m.sample.numbers[seed] for m in members if m.sample.numbers[seed] not in allowed), number)
        for seed, number in first.sample.numbers.items()
    }
    sample = replace(first.sample, numbers=worst)
    if reason := reason_undecided(sample, 1):
        return replace(undecided_finding(first.statistic, sample, allowed), reason=reason + exclusion_notes(sample))
    return sign_test_finding(first.statistic, sample, allowed, probability)


def _tightness(finding: Finding, sample: Sample, allowed: Region) -> str:
    """Measured over bound, where there is one edge and both are positive: else their ratio means nothing."""
    edges = [edge for edge in (allowed.low, allowed.high) if edge]
    if len(edges) != 1 or finding.estimate is None or min(finding.estimate, *edges) <= 0 or reason_counted(sample):
        return ""
    return f"; tightness (measured/bound) {finding.estimate / edges[0]:.3g}"
