"""The exponent of y ~ x^e: the least-squares slope of log y on log x within each seed, Student's interval over seeds.

Never one line through pooled points: the levels of a seed share weights and batches, so they are no replicates. Lack
of fit: if the interval of the per-seed quadratic coefficient excludes 0 *and* the mean profile leaves the line by more
than 10 %, there is no power law here and the exponent decides nothing.
"""

import math
from dataclasses import replace

import numpy as np

from lnlab.analyse.intervals import student
from lnlab.analyse.series import quotient, series
from lnlab.claims.claim import Finding, claims
from lnlab.claims.levels import numeric, per_seed, unfit, unfitted
from lnlab.claims.region import Region, region
from lnlab.claims.sample import N_INIT, N_TRAINED, TOO_MANY, notes, obstacle
from lnlab.claims.student import judged, measured
from lnlab.keys import Json
from lnlab.tables import Results

LEAST_SPAN, WIDE_SPAN = 2.0, 8.0
LEAVES = 0.1  # the mean profile may leave the line by this share
SLACK = 0.05  # of the exponent of an O(x^e) statement


@claims.register("power_law")
def power_law(
    results: Results,
    *,
    of: dict[str, Json],
    over: str,
    to: dict[str, Json] | None = None,
    between: tuple[float, float] | None = None,
    at_least: float | None = None,
    at_most: float | None = None,
    exponent: float | None = None,
    big_o: float | None = None,
) -> Finding:
    """``y ~ x^e``: the slope of log y on log x within each seed (Student, 1908).

    ``exponent: e`` is the region e ± .15, or e ± .10 where x spans at least a factor 8. ``big_o: e`` tests the exponent
    of y = O(x^e): at most e + .05. At least 4 levels that span at least a factor 2. With ``to``, y is the ratio of the
    selection to the same with what ``to`` changes, at every x and paired by seed: its exponent is the difference of
    their exponents.
    """
    found = series(results, of, over)
    if to is not None:
        found = quotient(found, series(results, {**of, **to}, over))
    x = numeric(found, over, positive=True)
    about = None if exponent is None else around(exponent, x)
    order = None if big_o is None else Region(high=big_o + SLACK)
    allowed = region(between, at_least, at_most, exponent=about, big_o=order)
    if reason := unfit(found, x, over, LEAST_SPAN):
        return unfitted(found, "exponent", reason, allowed)
    sample, matrix = per_seed(found, lambda rows: slopes(x, rows), log=False)
    n_min = N_TRAINED if sample.trained else N_INIT
    if obstacle(sample, n_min) is None:
        if sample.failing > TOO_MANY:
            reason = "more than 20 % of the seeds failed, and a failed seed has no exponent"
        else:
            reason = lack_of_fit(x, matrix)
        if reason:
            return replace(measured("exponent", sample, allowed), reason=reason + notes(sample))
    result = judged("exponent", sample, allowed, n_min)
    if big_o is None or result.estimate is None:
        return result
    return replace(result, reason=f"{result.reason}; exponent gap {result.estimate - big_o:+.2g}")


def around(exponent: float, x: np.ndarray) -> Region:
    """The default region of an exponent: ± .15, or ± .10 over a span of at least 8."""
    half = 0.1 if x.size and x[-1] >= WIDE_SPAN * x[0] else 0.15
    return Region(exponent - half, exponent + half)


def slopes(x: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """``Σ (u - ū) log y / Σ (u - ū)²`` with u = log x, for each row.

    Args:
        x: (levels,), positive.
        matrix: (seeds, levels), positive.
    """
    u = np.log(x) - np.log(x).mean()
    found: np.ndarray = np.log(matrix) @ u / (u @ u)
    return found


def lack_of_fit(x: np.ndarray, matrix: np.ndarray) -> str | None:
    """Why the profile is no power law, or None; shapes as in ``slopes``."""
    u, y = np.log(x) - np.log(x).mean(), np.log(matrix)
    bend = student(np.linalg.lstsq(np.vander(u, 3), y.T, rcond=None)[0][0])
    mean = y.mean(0)
    residuals = mean - mean.mean() - slopes(x, np.exp(mean)[None])[0] * u
    leaves = math.expm1(float(np.abs(residuals).max()))
    if bend.low <= 0 <= bend.high or leaves <= LEAVES:
        return None
    return (
        f"not a power law here: the mean profile leaves the line by up to {leaves:.0%}, and the quadratic coefficient "
        f"is {bend.estimate:.3g} ({bend.low:.3g} to {bend.high:.3g})"
    )
