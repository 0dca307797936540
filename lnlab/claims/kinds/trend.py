"""A monotone trend over levels, with seeds as blocks: Page's L (Page, 1963), Kendall's τ, and the ratio of the ends.

Supported iff p <= 0.025, the median τ over seeds is at least 0.8 and the interval of log(last/first) lies beyond the
declared minimum. Contradicted iff Page's test says the opposite at 0.025, or that interval lies wholly short of the
minimum. Never judged from the mean over seeds.
"""

from dataclasses import replace
from typing import Literal

import numpy as np

from lnlab.analyse.select.series import select_series
from lnlab.analyse.statistics.kendall import kendall_tau
from lnlab.analyse.statistics.page_trend import page_test
from lnlab.claims.claim import Finding, VerdictLabel, claims
from lnlab.claims.levels import numeric_levels, seed_statistics, unfit_finding, unfit_reason
from lnlab.claims.region import Region, declared_region
from lnlab.claims.sample import (
    N_INIT,
    N_TRAINED,
    Sample,
    exclusion_notes,
    reason_counted,
    reason_uncountable,
    reason_undecided,
)
from lnlab.claims.student import explained_verdict, interval_of, undecided_finding
from lnlab.keys import Json
from lnlab.tables import Results

PAGE_LEVEL, MIN_TAU = 0.025, 0.8


@claims.register("trend", measure="ratio", about=("mean", "median"), no_effect=lambda _: 1.0)
def trend(
    results: Results, *, of: dict[str, Json], over: str, direction: Literal["up", "down"], at_least: float = 1.1
) -> Finding:
    """``L = Σ j R_j``: rises or falls along x in every seed, end over end by at least a factor (Page, 1963).

    ``at_least`` is the smallest ratio that counts: last/first for ``up``, first/last for ``down``. At least 4 levels.
    """
    observed = select_series(results, of, over)
    allowed = declared_region(at_least=at_least, positive=True)
    up = direction == "up"
    statistic = f"{'last/first' if up else 'first/last'} over {over}"
    if reason := unfit_reason(observed, numeric_levels(observed, over, positive=False), over):
        return unfit_finding(observed, statistic, reason, allowed)
    sample, matrix = seed_statistics(observed, lambda rows: (rows[:, -1] / rows[:, 0]) ** (1 if up else -1), log=True)
    finding = undecided_finding(statistic, sample, allowed)
    undecided = reason_undecided(sample, N_TRAINED if sample.trained else N_INIT)
    if not undecided and reason_counted(sample):
        undecided = reason_uncountable(sample, "has no trend")
    if undecided:
        return replace(finding, reason=undecided + exclusion_notes(sample))
    verdict, reason = trend_verdict(sample, matrix if up else matrix[:, ::-1], allowed)
    return replace(finding, verdict=verdict, reason=reason + exclusion_notes(sample))


def trend_verdict(sample: Sample, matrix: np.ndarray, allowed: Region) -> tuple[VerdictLabel, str]:
    """The verdict on complete seeds, and what decided.

    Args:
        sample: the ratio of the ends of each seed.
        matrix: (seeds, levels), levels in the order in which the numbers should rise.
        allowed: where the ratio must lie.
    """
    p_along, p_against = page_test(matrix)
    tau = float(np.median(kendall_tau(matrix)))
    verdict, reason = explained_verdict(interval_of(sample), allowed, log=True)
    if p_against <= PAGE_LEVEL:
        return "contradicted", f"Page's test says the opposite, p = {p_against:.2g}; {reason}"
    order_text = f"Page's test p = {p_along:.2g}, median tau {tau:.2f}"
    if verdict == "supported" and (p_along > PAGE_LEVEL or tau < MIN_TAU):
        return "undecided", f"{reason}, but the order is not clear: {order_text} (needs {PAGE_LEVEL:g} and {MIN_TAU:g})"
    return verdict, f"{reason}; {order_text}"
