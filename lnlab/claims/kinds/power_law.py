"""The exponent of y ~ x^e: the least-squares slope of log y on log x within each seed, an interval over seeds.

No line is fitted through pooled points: the levels of a seed share weights and batches, so they are no replicates.
There is a lack of fit if the interval of the per-seed quadratic coefficient excludes 0 *and* the mean profile leaves
the line by more than 10 %. Then the slope decides nothing, and the local exponents between neighbouring levels decide,
``log(y_(i+1) / y_i) / log(x_(i+1) / x_i)``. The claim is supported if the interval of each lies in the region, and
contradicted if each lies beyond the same edge (``local_exponents``). The exception is a declared growth where every
seed falls from each level to the next, or the reverse. No such curve has an exponent of the declared sign, so the
interval of the slope (a weighted mean of the local exponents) decides as usual.
"""

import math
from dataclasses import replace
from functools import partial

import numpy as np

from lnlab.analyse.statistics.intervals import t_interval
from lnlab.claims.claim import Finding, claims
from lnlab.claims.criterion import ONE_LOOK, Criterion
from lnlab.claims.intersection_union import Member, intersection_union
from lnlab.claims.levels import numeric_levels, seed_statistics, unfit_finding, unfit_reason
from lnlab.claims.local_exponents import local_exponent_member, local_exponents, local_range_text
from lnlab.claims.region import Region, declared_region, number_text
from lnlab.claims.sample import N_INIT, N_TRAINED, Arm, Sample, arm_names, arm_of, exclusion_notes
from lnlab.claims.sites import SiteColumns, site_conditions, statistic_at
from lnlab.claims.student import measured_finding, unjudged_finding
from lnlab.keys import Json
from lnlab.seed_words import seed_word
from lnlab.select.series import select_series, series_quotient
from lnlab.specfile.columns import COLUMNS
from lnlab.tables import Results

MIN_EXPONENT_SPAN, WIDE_SPAN = 2.0, 8.0
MAX_DEVIATION = 0.1  # the mean profile may leave the line by this share
_BIG_O_SLACK = 0.05  # of the exponent of an O(x^e) statement


@claims.register("power_law", measure="exponent", about=("mean", "median"), no_effect=lambda _: 0.0)
def power_law(
    results: Results,
    criterion: Criterion = ONE_LOOK,
    *,
    of: dict[str, Json],
    over: str,
    to: dict[str, Json] | None = None,
    each: SiteColumns = None,
    between: tuple[float, float] | None = None,
    at_least: float | None = None,
    at_most: float | None = None,
    exponent: float | None = None,
    big_o: float | None = None,
) -> Finding:
    """``y ~ x^e``: the slope of log y on log x within each seed (Student, 1908).

    ``exponent: e`` accepts e ± 0.15, or e ± 0.10 where x spans at least a factor 8. ``big_o: e`` tests the
    exponent of y = O(x^e): at most e + 0.05. At least 4 levels that span at least a factor 2. Where the curve is no
    power law, the local exponents from each level to the next must all lie in the range; all beyond the same end
    contradict it. With ``to``, y is the ratio of the selection to the same with what ``to`` changes, at every x that
    both have and paired by seed: its exponent is the difference of their exponents. With ``each: [layer, ...]`` it
    holds for every place that these columns tell apart.
    """
    members: list[Member] = []
    for site in site_conditions(results, of, each, to):
        observed = select_series(results, {**of, **site}, over)
        arms: tuple[Arm, ...] = ()
        if to is not None:
            other = select_series(results, {**of, **to, **site}, over)
            sides = zip(arm_names(of, to), (observed, other), strict=True)
            arms = tuple(arm_of(name, side) for name, side in sides)
            observed = series_quotient(observed, other)
        elif over not in COLUMNS:
            arms = (arm_of(f"a level of {over}", observed),)

        statistic = statistic_at("exponent", site)
        x = numeric_levels(observed, over, positive=True)
        near = None if exponent is None else default_exponent_region(exponent, x)
        at_most_order = None if big_o is None else Region(high=big_o + _BIG_O_SLACK)
        allowed = declared_region(between, at_least, at_most, exponent=near, big_o=at_most_order)
        if reason := unfit_reason(observed, x, over, "a power law", MIN_EXPONENT_SPAN):
            return unfit_finding(observed, statistic, reason, allowed)
        sample, matrix = seed_statistics(observed, partial(log_log_slopes, x), log=False, arms=arms)
        fitted = Member(statistic, sample, allowed, null=criterion.null(0.0, allowed, ratio=False))
        unjudged = unjudged_finding(statistic, sample, allowed, _least_seeds(sample), criterion)
        bend = None if unjudged else lack_of_fit(x, matrix, 1 - criterion.level)
        if bend is None:
            members.append(fitted)
        elif trend := opposite_trend(matrix, allowed):
            members.append(replace(fitted, remark=f"{trend} ({bend})"))
        else:
            exponents = local_exponents(x, matrix)
            local = local_exponent_member(replace(fitted, remark=bend), exponents, criterion)
            if local is None:  # no place decides while the curve of this one bends across an edge
                outlook = f"neither all within the accepted range ({allowed}) nor all on one side of it"
                intervals = [t_interval(column, level=1 - criterion.level) for column in exponents.T]
                finding = measured_finding(statistic, sample, allowed, criterion)
                reason = f"{bend}; {local_range_text(intervals)}, {outlook}"
                return replace(finding, reason=reason + exclusion_notes(sample), tested=True)
            members.append(local)
    finding = intersection_union(members, _least_seeds(members[0].sample), criterion)
    if big_o is None or finding.estimate is None:
        return finding
    return replace(finding, reason=f"{finding.reason}; exponent gap {finding.estimate - big_o:+.2g}")


def _least_seeds(sample: Sample) -> int:
    return N_TRAINED if sample.trained else N_INIT


def default_exponent_region(exponent: float, x: np.ndarray) -> Region:
    """The default region of an exponent: ± 0.15, or ± 0.10 over a span of at least 8."""
    half_width = 0.1 if x.size and x[-1] >= WIDE_SPAN * x[0] else 0.15
    return Region(exponent - half_width, exponent + half_width)


def log_log_slopes(x: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """``Σ (u - ū) log y / Σ (u - ū)²`` with u = log x, for each row.

    Args:
        x: (levels,), positive.
        matrix: (seeds, levels), positive.
    """
    u = np.log(x) - np.log(x).mean()
    exponents: np.ndarray = np.log(matrix) @ u / (u @ u)
    return exponents


def lack_of_fit(x: np.ndarray, matrix: np.ndarray, level: float = 0.95) -> str | None:
    """Why the profile is no power law, or None. Shapes are those of ``log_log_slopes``, ``level`` the interval's."""
    u, y = np.log(x) - np.log(x).mean(), np.log(matrix)
    quadratic = t_interval(np.linalg.lstsq(np.vander(u, 3), y.T, rcond=None)[0][0], level=level)
    mean = y.mean(0)
    residuals = mean - mean.mean() - log_log_slopes(x, np.exp(mean)[None])[0] * u
    deviation = math.expm1(float(np.abs(residuals).max()))
    if quadratic.low <= 0 <= quadratic.high or deviation <= MAX_DEVIATION:
        return None
    return (
        f"not a power law here: the mean profile leaves the line by up to {deviation:.0%}, and the quadratic "
        f"coefficient is {number_text(quadratic.estimate)} ({number_text(quadratic.low)} to "
        f"{number_text(quadratic.high)})"
    )


def opposite_trend(matrix: np.ndarray, allowed: Region) -> str | None:
    """Say that every seed moves against the declared sign of the exponent at each level, or return None.

    Args:
        matrix: (seeds, levels), positive, levels in ascending order.
        allowed: where the exponent must lie. A region that holds 0 declares no direction.
    """
    steps = np.diff(np.log(matrix))
    if allowed.bottom > 0 and bool((steps < 0).all()):
        return f"growth was declared, and every {seed_word()} falls from each level to the next"
    if allowed.top < 0 and bool((steps > 0).all()):
        return f"a fall was declared, and every {seed_word()} grows from each level to the next"
    return None
