"""A monotone trend over levels, with seeds as blocks: Page's L (Page, 1963), Kendall's τ, and the ratio of the ends.

Supported iff p is at most half the level of the look, the median τ over seeds is at least 0.8 and the interval of
log(last/first) lies beyond the declared minimum. Contradicted iff Page's test says the opposite at half the level, or
that interval lies wholly short of the minimum. The mean over seeds is never used.
"""

import math
from dataclasses import replace
from typing import Literal

import numpy as np
import scipy  # scipy.special takes a while to import, and loads when it is first used

from lnlab.analyse.statistics.kendall import kendall_tau
from lnlab.analyse.statistics.page_trend import page_test
from lnlab.claims.claim import Finding, VerdictLabel, claims
from lnlab.claims.criterion import ONE_LOOK, Criterion, law_word
from lnlab.claims.levels import numeric_levels, seed_statistics, unfit_finding, unfit_reason
from lnlab.claims.outlook import outlook_text
from lnlab.claims.region import Region, declared_region
from lnlab.claims.sample import N_INIT, N_TRAINED, Sample, arm_of, exclusion_notes
from lnlab.claims.student import explained_verdict, interval_of, measured_finding, unjudged_finding
from lnlab.claims.verdict_details import Detail
from lnlab.keys import Json
from lnlab.seed_words import seeds_word
from lnlab.select.series import select_series
from lnlab.specfile.columns import COLUMNS
from lnlab.tables import Results

MIN_TAU = 0.8


@claims.register("trend", measure="ratio", about=("mean", "median"), no_effect=lambda _: 1.0)
def trend(
    results: Results,
    criterion: Criterion = ONE_LOOK,
    *,
    of: dict[str, Json],
    over: str,
    direction: Literal["up", "down"],
    at_least: float = 1.1,
) -> Finding:
    """``L = Σ j R_j``: rises or falls along x in every seed, end over end by at least a factor (Page, 1963).

    ``at_least`` is the smallest ratio that counts: last/first for ``up``, first/last for ``down``. At least 4 levels.
    """
    observed = select_series(results, of, over)
    allowed = declared_region(at_least=at_least, positive=True)
    up = direction == "up"
    statistic = f"{'last/first' if up else 'first/last'} over {over}"
    if reason := unfit_reason(observed, numeric_levels(observed, over, positive=False), over, "a trend"):
        return unfit_finding(observed, statistic, reason, allowed)
    arms = () if over in COLUMNS else (arm_of(f"a level of {over}", observed),)
    sample, matrix = seed_statistics(
        observed, lambda rows: (rows[:, -1] / rows[:, 0]) ** (1 if up else -1), log=True, arms=arms
    )
    n_min = N_TRAINED if sample.trained else N_INIT
    if unjudged := unjudged_finding(statistic, sample, allowed, n_min, criterion):
        return unjudged
    finding = measured_finding(statistic, sample, allowed, criterion)
    verdict, detail, reason = trend_verdict(sample, matrix if up else matrix[:, ::-1], allowed, criterion)
    word = law_word(interval_of(sample, criterion), criterion.law)
    reason += exclusion_notes(sample)
    return replace(finding, verdict=verdict, detail=detail, reason=reason, law_word=word, tested=True)


def trend_verdict(
    sample: Sample, matrix: np.ndarray, allowed: Region, criterion: Criterion = ONE_LOOK
) -> tuple[VerdictLabel, Detail | None, str]:
    """The verdict on complete seeds, what it says beyond its word, and what decided.

    Args:
        sample: the ratio of the ends of each seed.
        matrix: (seeds, levels), levels in the order in which the numbers should rise.
        allowed: where the ratio must lie.
        criterion: level, estimand and margin.
    """
    p_along, p_against = page_test(matrix)
    tau = float(np.median(kendall_tau(matrix)))
    null = criterion.null(1.0, allowed, ratio=True)
    verdict, detail, reason = explained_verdict(interval_of(sample, criterion), allowed, sample, criterion, null)
    # Before the interval of the ends: a clear trend the other way contradicts whatever first and last show.
    if p_against <= criterion.tail:
        other_way: Detail | None = None if criterion.margin == "source" else "the other way"
        return "contradicted", other_way, f"Page's test says the opposite, p = {p_against:.2g}; {reason}"
    order_text = f"Page's test p = {p_along:.2g}, median tau {tau:.2f}"
    if verdict == "supported" and (p_along > criterion.tail or tau < MIN_TAU):
        needs = f"needs {criterion.tail:.4g} and {MIN_TAU:g}"
        outlook = f"more {seeds_word()} do not decide while the median tau stays as it is"
        if tau >= MIN_TAU:  # the normal limit of L grows with the root of the seeds
            asked = float(scipy.special.ndtri(criterion.next_level / 2) / scipy.special.ndtri(p_along)) ** 2
            n = len(matrix)
            outlook = outlook_text(max(math.ceil(n * asked), n + 1), sample.total, criterion)
        return "undecided", None, f"{reason}, but the order is not clear: {order_text} ({needs}); {outlook}"
    return verdict, detail, f"{reason}; {order_text}"
