"""Which of two laws: ``RMSE_B / RMSE_A`` of log errors at levels left out of the fit, within each seed.

Each law has two free parameters, fitted afresh for every seed and every level left out, so that neither gains by
bending more. Supported iff the interval over seeds lies above 1.1 and A errs by at most 15 % in the median;
contradicted iff it lies below 1/1.1. If both err by more than 15 %, neither law describes the numbers, and nothing is
decided. Never judged by R² of a mean profile, which the last and noisiest level dominates.
"""

from dataclasses import replace

import numpy as np

from lnlab.analyse.select.series import series
from lnlab.analyse.statistics.intervals import Interval
from lnlab.claims.claim import Finding, claims
from lnlab.claims.claim import Word as Verdict
from lnlab.claims.laws import Law, Word, left_out_errors
from lnlab.claims.levels import numeric, per_seed, unfit, unfitted
from lnlab.claims.region import Region, printed
from lnlab.claims.sample import N_TRAINED, Sample, counted, notes, obstacle, uncountable
from lnlab.claims.student import interval_of, measured, more_seeds
from lnlab.errors import LabError, Problem
from lnlab.keys import Json
from lnlab.tables import Results

LEAST_LEVELS, LEAST_SPAN = 6, 16.0
CLEARLY, CLOSE = 1.1, 0.15
RESOLVED = 1e-9
"""Log errors below this are rounding, and count as this."""


@claims.register("fit", measure="ratio")
def fit(
    results: Results,
    *,
    of: dict[str, Json],
    over: str,
    law: Word,
    against: Word,
    exponent: float | None = None,
) -> Finding:
    """``RMSE_B / RMSE_A``: y follows ``law`` rather than ``against``, judged by left-out levels (Stone, 1974).

    ``linear``: a + b x; ``logarithmic``: a + b log x; ``power``: a + b x^p, where ``exponent`` is p; ``exponential``:
    a exp(b x). At least 6 levels that span a factor 16, and 5 seeds.
    """
    one, other = _laws(law, against, exponent)
    observed, allowed = series(results, of, over), Region(low=CLEARLY)
    x = numeric(observed, over, positive=True)
    statistic = f"error of {other} over error of {one}"
    if reason := unfit(observed, x, over, LEAST_SPAN, LEAST_LEVELS):
        return unfitted(observed, statistic, reason, allowed)
    sample, matrix = per_seed(observed, lambda rows: error_ratios(*both_errors(one, other, x, rows)), log=True)
    finding = measured(statistic, sample, allowed)
    undecided = obstacle(sample, N_TRAINED)
    if not undecided and counted(sample):
        undecided = uncountable(sample, "follows no law")
    if undecided:
        return replace(finding, reason=undecided + notes(sample))
    verdict, reason = ruled(sample, (str(one), str(other)), both_errors(one, other, x, matrix))
    return replace(finding, verdict=verdict, reason=reason + notes(sample))


def both_errors(one: Law, other: Law, x: np.ndarray, matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The log errors at left-out levels of the two laws, (seeds, levels) each."""
    return left_out_errors(one, x, matrix), left_out_errors(other, x, matrix)


def error_ratios(ours: np.ndarray, others: np.ndarray) -> np.ndarray:
    """``RMSE_B / RMSE_A`` of each row of log errors (seeds, levels)."""
    a, b = (np.maximum(np.sqrt(np.square(errors).mean(-1)), RESOLVED) for errors in (ours, others))
    ratios: np.ndarray = b / a
    return ratios


def ruled(sample: Sample, names: tuple[str, str], errors: tuple[np.ndarray, np.ndarray]) -> tuple[Verdict, str]:
    """The verdict on complete seeds, and what decided.

    Args:
        sample: the ratio of errors of each seed.
        names: the two laws.
        errors: of the two laws, (seeds, levels) each.
    """
    interval = interval_of(sample)
    ours, others = (float(np.median(np.abs(np.expm1(e)))) for e in errors)
    interval_text = f"the 95 % interval {printed(interval.low)} to {printed(interval.high)}"
    medians = f"median error {ours:.0%} {names[0]}, {others:.0%} {names[1]}"
    if min(ours, others) > CLOSE:
        return "undecided", f"neither law describes the numbers: {medians} (needs {CLOSE:.0%}); {interval_text}"
    if interval.low > CLEARLY:
        verdict: Verdict = "supported" if ours <= CLOSE else "undecided"
        caveat = "" if ours <= CLOSE else f", but {names[0]} errs by more than {CLOSE:.0%}"
        return verdict, f"{interval_text} lies above {CLEARLY:g}{caveat}; {medians}"
    if interval.high < 1 / CLEARLY:
        return "contradicted", f"{interval_text} lies below 1/{CLEARLY:g}: {names[1]} is nearer; {medians}"
    return "undecided", f"{interval_text} does not tell the laws apart; {_more_seeds(interval)}; {medians}"


def _more_seeds(interval: Interval) -> str:
    """How many seeds would decide, towards the nearer edge; between the edges none would."""
    if 1 / CLEARLY <= interval.estimate <= CLEARLY:
        return f"they err alike, within a factor {CLEARLY:g}"
    return more_seeds(interval, Region(low=CLEARLY) if interval.estimate > 1 else Region(high=1 / CLEARLY), log=True)


def _laws(law: Word, against: Word, exponent: float | None) -> tuple[Law, Law]:
    """The two laws; the one that is a power has the exponent.

    Raises:
        LabError: they are the same, or the exponent is missing, is not needed, or makes no law of its own.
    """
    if law == against:
        raise LabError(Problem("against", f"both laws are {law}", "name two laws"))
    power = "power" in (law, against)
    if power != (exponent is not None):
        what = "a power law needs its exponent" if power else "neither law is a power"
        raise LabError(Problem("exponent", what, "give exponent: 0.5, say" if power else "leave it out"))
    if exponent == 0 or (exponent == 1 and "linear" in (law, against)):
        what = f"a power with exponent {exponent:g} is {'a constant' if exponent == 0 else 'linear'}"
        raise LabError(Problem("exponent", what, "give another"))
    return Law(law, exponent if law == "power" else None), Law(against, exponent if against == "power" else None)
