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
    found, allowed = series(results, of, over), Region(low=CLEARLY)
    x = numeric(found, over, positive=True)
    statistic = f"error of {other} over error of {one}"
    if reason := unfit(found, x, over, LEAST_SPAN, LEAST_LEVELS):
        return unfitted(found, statistic, reason, allowed)
    sample, matrix = per_seed(found, lambda rows: error_ratios(*both_errors(one, other, x, rows)), log=True)
    blank = measured(statistic, sample, allowed)
    rule = obstacle(sample, N_TRAINED)
    if not rule and counted(sample):
        rule = uncountable(sample, "follows no law")
    if rule:
        return replace(blank, reason=rule + notes(sample))
    verdict, words = ruled(sample, (str(one), str(other)), both_errors(one, other, x, matrix))
    return replace(blank, verdict=verdict, reason=words + notes(sample))


def both_errors(one: Law, other: Law, x: np.ndarray, matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The log errors at left-out levels of the two laws, (seeds, levels) each."""
    return left_out_errors(one, x, matrix), left_out_errors(other, x, matrix)


def error_ratios(ours: np.ndarray, others: np.ndarray) -> np.ndarray:
    """``RMSE_B / RMSE_A`` of each row of log errors (seeds, levels)."""
    a, b = (np.maximum(np.sqrt(np.square(errors).mean(-1)), RESOLVED) for errors in (ours, others))
    found: np.ndarray = b / a
    return found


def ruled(sample: Sample, names: tuple[str, str], errors: tuple[np.ndarray, np.ndarray]) -> tuple[Verdict, str]:
    """The verdict on complete seeds, and what decided.

    Args:
        sample: the ratio of errors of each seed.
        names: the two laws.
        errors: of the two laws, (seeds, levels) each.
    """
    found = interval_of(sample)
    ours, others = (float(np.median(np.abs(np.expm1(e)))) for e in errors)
    told = f"the 95 % interval {printed(found.low)} to {printed(found.high)}"
    medians = f"median error {ours:.0%} {names[0]}, {others:.0%} {names[1]}"
    if min(ours, others) > CLOSE:
        return "undecided", f"neither law describes the numbers: {medians} (needs {CLOSE:.0%}); {told}"
    if found.low > CLEARLY:
        word: Verdict = "supported" if ours <= CLOSE else "undecided"
        but = "" if ours <= CLOSE else f", but {names[0]} errs by more than {CLOSE:.0%}"
        return word, f"{told} lies above {CLEARLY:g}{but}; {medians}"
    if found.high < 1 / CLEARLY:
        return "contradicted", f"{told} lies below 1/{CLEARLY:g}: {names[1]} is nearer; {medians}"
    return "undecided", f"{told} does not tell the laws apart; {_more(found)}; {medians}"


def _more(found: Interval) -> str:
    """How many seeds would decide, towards the nearer edge; between the edges none would."""
    if 1 / CLEARLY <= found.estimate <= CLEARLY:
        return f"they err alike, within a factor {CLEARLY:g}"
    return more_seeds(found, Region(low=CLEARLY) if found.estimate > 1 else Region(high=1 / CLEARLY), log=True)


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
