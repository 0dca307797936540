"""Which of two laws: ``RMSE_B / RMSE_A`` of log errors at levels left out of the fit, within each seed.

Each law has two free parameters, fitted afresh for every seed and every level left out, so that neither gains by
bending more. The claim is supported iff the interval over seeds lies above 1.1 and A errs by at most 15 % in the
median. It is contradicted iff the interval lies below 1/1.1. If both laws err by more than 15 %, neither describes the
numbers, and the claim stays undecided. R² of a mean profile is not used, since the last and noisiest level dominates
it.
"""

from dataclasses import replace

import numpy as np

from lnlab.claims.claim import Finding, claims
from lnlab.claims.claim import VerdictLabel as Verdict
from lnlab.claims.criterion import ONE_LOOK, Criterion
from lnlab.claims.laws import LawName, left_out_errors
from lnlab.claims.levels import numeric_levels, seed_statistics, unfit_finding, unfit_reason
from lnlab.claims.outlook import seeds_needed_text
from lnlab.claims.region import Region
from lnlab.claims.sample import N_TRAINED, Sample, arm_of, exclusion_notes
from lnlab.claims.student import interval_of, interval_text, measured_finding, unjudged_finding
from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.keys import Json
from lnlab.select.series import select_series
from lnlab.specfile.columns import COLUMNS
from lnlab.tables import Results

MIN_FIT_LEVELS, MIN_FIT_SPAN = 6, 16.0
CLEAR_RATIO, MAX_MEDIAN_ERROR = 1.1, 0.15
MIN_LOG_ERROR = 1e-9
"""Log errors below this are rounding, and count as this."""


@claims.register("fit", measure="ratio", about=("mean", "median"), law=False)
def fit(
    results: Results,
    criterion: Criterion = ONE_LOOK,
    *,
    of: dict[str, Json],
    over: str,
    law: LawName,
    against: LawName,
) -> Finding:
    """``RMSE_B / RMSE_A``: y follows ``law`` rather than ``against``, judged by left-out levels (Stone, 1974).

    ``linear``: a + b x; ``logarithmic``: a + b log x; ``exponential``: a exp(b x). At
    least 6 levels that span a factor 16, and 5 seeds.
    """
    if law == against:
        raise LabError(Issue("conflict", "against", f"both laws are {law}", "name two laws"))
    observed = select_series(results, of, over)
    allowed = Region(low=CLEAR_RATIO)
    x = numeric_levels(observed, over, positive=True)
    statistic = f"error of {against} over error of {law}"
    if reason := unfit_reason(observed, x, over, "a fit", MIN_FIT_SPAN, MIN_FIT_LEVELS):
        return unfit_finding(observed, statistic, reason, allowed)
    arms = () if over in COLUMNS else (arm_of(f"a level of {over}", observed),)
    sample, matrix = seed_statistics(
        observed, lambda rows: error_ratios(*left_out_error_pair(law, against, x, rows)), log=True, arms=arms
    )
    if unjudged := unjudged_finding(statistic, sample, allowed, N_TRAINED, criterion):
        return unjudged
    finding = measured_finding(statistic, sample, allowed, criterion)
    errors = left_out_error_pair(law, against, x, matrix)
    verdict, reason = fit_verdict(sample, (law, against), errors, criterion)
    return replace(finding, verdict=verdict, reason=reason + exclusion_notes(sample), tested=True)


def left_out_error_pair(
    law: LawName, against: LawName, x: np.ndarray, matrix: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The log errors at left-out levels of the two laws, (seeds, levels) each."""
    return left_out_errors(law, x, matrix), left_out_errors(against, x, matrix)


def error_ratios(ours: np.ndarray, others: np.ndarray) -> np.ndarray:
    """``RMSE_B / RMSE_A`` of each row of log errors (seeds, levels)."""
    a, b = (np.maximum(np.sqrt(np.square(errors).mean(-1)), MIN_LOG_ERROR) for errors in (ours, others))
    ratios: np.ndarray = b / a
    return ratios


def fit_verdict(
    sample: Sample, names: tuple[str, str], errors: tuple[np.ndarray, np.ndarray], criterion: Criterion = ONE_LOOK
) -> tuple[Verdict, str]:
    """The verdict on complete seeds, and what decided.

    Args:
        sample: the ratio of errors of each seed.
        names: the two laws.
        errors: of the two laws, (seeds, levels) each.
        criterion: level and estimand.
    """
    interval = interval_of(sample, criterion)
    ours, others = (float(np.median(np.abs(np.expm1(e)))) for e in errors)
    text = interval_text(interval, criterion)
    medians = f"median error {ours:.0%} {names[0]}, {others:.0%} {names[1]}"
    if min(ours, others) > MAX_MEDIAN_ERROR:
        return (
            "undecided",
            f"neither law describes the numbers: {medians} (needs {MAX_MEDIAN_ERROR:.0%}); {text}",
        )
    if interval.low > CLEAR_RATIO:
        verdict: Verdict = "supported" if ours <= MAX_MEDIAN_ERROR else "undecided"
        caveat = "" if ours <= MAX_MEDIAN_ERROR else f", but {names[0]} errs by more than {MAX_MEDIAN_ERROR:.0%}"
        return verdict, f"{text} lies above {CLEAR_RATIO:g}{caveat}; {medians}"
    if interval.high < 1 / CLEAR_RATIO:
        return "contradicted", f"{text} lies below 1/{CLEAR_RATIO:g}: {names[1]} is nearer; {medians}"
    if 1 / CLEAR_RATIO <= interval.estimate <= CLEAR_RATIO:  # between the edges no number of seeds would decide
        outlook = f"they err alike, within a factor {CLEAR_RATIO:g}"
    else:
        nearer = Region(low=CLEAR_RATIO) if interval.estimate > 1 else Region(high=1 / CLEAR_RATIO)
        outlook = seeds_needed_text(interval, nearer, sample, criterion)
    return "undecided", f"{text} does not tell the laws apart; {outlook}; {medians}"
