"""A monotone trend over levels, with seeds as blocks: Page's L (Page, 1963), Kendall's τ, and the ratio of the ends.

Supported iff p <= .025, the median τ over seeds is at least .8 and the interval of log(last/first) lies beyond the
declared minimum. Contradicted iff Page's test says the opposite at .025, or that interval lies wholly short of the
minimum. Never judged from the mean over seeds.
"""

from dataclasses import replace
from typing import Literal

import numpy as np

from lnlab.analyse.select.series import series
from lnlab.analyse.statistics.kendall import kendall
from lnlab.analyse.statistics.page_trend import page
from lnlab.claims.claim import Finding, Word, claims
from lnlab.claims.levels import numeric, per_seed, unfit, unfitted
from lnlab.claims.region import Region, region
from lnlab.claims.sample import N_INIT, N_TRAINED, Sample, counted, notes, obstacle, uncountable
from lnlab.claims.student import interval_of, measured, ruling
from lnlab.keys import Json
from lnlab.tables import Results

P, TAU = 0.025, 0.8


@claims.register("trend", measure="ratio")
def trend(
    results: Results, *, of: dict[str, Json], over: str, direction: Literal["up", "down"], at_least: float = 1.1
) -> Finding:
    """``L = Σ j R_j``: rises or falls along x in every seed, end over end by at least a factor (Page, 1963).

    ``at_least`` is the smallest ratio that counts: last/first for ``up``, first/last for ``down``. At least 4 levels.
    """
    observed, allowed = series(results, of, over), region(at_least=at_least, positive=True)
    up = direction == "up"
    statistic = f"{'last/first' if up else 'first/last'} over {over}"
    if reason := unfit(observed, numeric(observed, over, positive=False), over):
        return unfitted(observed, statistic, reason, allowed)
    sample, matrix = per_seed(observed, lambda rows: (rows[:, -1] / rows[:, 0]) ** (1 if up else -1), log=True)
    finding = measured(statistic, sample, allowed)
    undecided = obstacle(sample, N_TRAINED if sample.trained else N_INIT)
    if not undecided and counted(sample):
        undecided = uncountable(sample, "has no trend")
    if undecided:
        return replace(finding, reason=undecided + notes(sample))
    verdict, reason = ruled(sample, matrix if up else matrix[:, ::-1], allowed)
    return replace(finding, verdict=verdict, reason=reason + notes(sample))


def ruled(sample: Sample, matrix: np.ndarray, allowed: Region) -> tuple[Word, str]:
    """The verdict on complete seeds, and what decided.

    Args:
        sample: the ratio of the ends of each seed.
        matrix: (seeds, levels), levels in the order in which the numbers should rise.
        allowed: where the ratio must lie.
    """
    p_along, p_against = page(matrix)
    tau = float(np.median(kendall(matrix)))
    verdict, reason = ruling(interval_of(sample), allowed, log=True)
    if p_against <= P:
        return "contradicted", f"Page's test says the opposite, p = {p_against:.2g}; {reason}"
    order_text = f"Page's test p = {p_along:.2g}, median tau {tau:.2f}"
    if verdict == "supported" and (p_along > P or tau < TAU):
        return "undecided", f"{reason}, but the order is not clear: {order_text} (needs {P:g} and {TAU:g})"
    return verdict, f"{reason}; {order_text}"
