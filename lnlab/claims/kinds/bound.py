"""A number against a bound: in expectation, for all x, or exactly for every sample.

In expectation the seed's number is tested by an interval over seeds, on the log scale for positive quantities. With
``over`` and no ``reduce`` the bound is for all x: the largest (smallest) value within the seed is tested against the
upper (lower) edge, both edges by intersection-union. An exact bound is contradicted by one counterexample.
"""

from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field

from lnlab.claims.bounded import is_fraction
from lnlab.claims.claim import Finding, claims
from lnlab.claims.criterion import ONE_LOOK, Criterion
from lnlab.claims.exact import exact_bound_finding
from lnlab.claims.intersection_union import Member, intersection_union
from lnlab.claims.region import Region, declared_region
from lnlab.claims.sample import min_seeds, one_number_per_seed, series_sample
from lnlab.claims.sites import SiteColumns, site_conditions, statistic_at
from lnlab.keys import Json
from lnlab.select.reductions import RATIO_REDUCTIONS, Reduction
from lnlab.select.series import select_series
from lnlab.tables import Results


@claims.register("bound", no_effect=lambda claim: 1.0 if claim.get("reduce") in RATIO_REDUCTIONS else None)
def bound(
    results: Results,
    criterion: Criterion = ONE_LOOK,
    *,
    of: dict[str, Json],
    over: str | None = None,
    reduce: Reduction | None = None,
    each: SiteColumns = None,
    between: tuple[float, float] | None = None,
    at_least: float | None = None,
    at_most: float | None = None,
    scale: Literal["log", "linear"] = "log",
    exact: bool = False,
    tolerance: Annotated[float, Field(ge=0)] = 1e-5,
) -> Finding:
    """``low <= y <= high``: a number, its reduction along x, or all along x, within bounds (Student, 1908).

    ``exact`` holds every single sample to the bound, up to ``tolerance`` relative to the edge (1e-5 suits float32,
    1e-10 float64). ``scale: linear`` is for numbers that may be negative. With ``each: [layer, ...]`` the bound holds
    for every place that these columns tell apart; an exact one does so as it is.
    """
    allowed = declared_region(between, at_least, at_most, positive=scale == "log" and not exact)
    if exact:
        return exact_bound_finding(results, of, over, allowed, tolerance)
    log = scale == "log"
    ratio = reduce in RATIO_REDUCTIONS
    null = criterion.null(1.0 if ratio else None, allowed, ratio=ratio)
    # For all x the largest number is held to the upper edge and the smallest to the lower one.
    everywhere = over is not None and reduce is None
    tests: list[tuple[Reduction | None, Region]] = [(reduce, allowed)]
    if everywhere:
        ends: list[tuple[Reduction, Region]] = [("max", Region(high=allowed.high)), ("min", Region(low=allowed.low))]
        tests = [(extreme, edge) for extreme, edge in ends if edge != Region()]
    members = []
    for site in site_conditions(results, of, each):
        for reduction, edge in tests:
            observed = select_series(results, {**of, **site}, over, reduction)
            statistic = statistic_at(f"{reduction} over {over}" if reduction else "value", site)
            bounds = (0.0, 1.0) if is_fraction({**of, **site}, reduction) else None
            sample = series_sample(observed, one_number_per_seed(observed), log=log, bounds=bounds)
            members.append(Member(statistic, sample, edge, null=null, named=() if everywhere else None))
    finding = intersection_union(members, min_seeds(members[0].sample), criterion)
    finding = replace(finding, measure=finding.measure or ("ratio" if ratio else None))
    # Measured over bound means something where there is one edge and both are positive.
    edges = [edge for edge in (allowed.low, allowed.high) if edge]
    estimate = finding.estimate
    if len(edges) == 1 and estimate is not None and min(estimate, *edges) > 0 and finding.measure != "share":
        tightness = f"; tightness (measured/bound) {estimate / edges[0]:.3g}"
        finding = replace(finding, reason=finding.reason + tightness)
    return finding
