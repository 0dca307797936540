"""A printed mean of few draws: could it be a mean of so many of ours?

    m* = log mean_k exp(mu* + sigma* z_k),   sigma*² = (n - 1) s² / chi²(n - 1),   mu* = mean + sigma* z / √n

``mean`` and ``s`` are those of the logarithms of our n seeds, z are independent N(0, 1), k runs over the printed draws.
So drawn, m* has the uncertainty of both samples (the generalized pivots of Krishnamoorthy & Mathew, 2003, for the mean
of log-normal numbers). The accepted range is the middle 95 % of it: a mean of as many draws of ours lies outside one
time in twenty. A wide range accepts much, so the range is shown. Equality of the two means is not judged.

A claim that is looked at more than once is contradicted only beyond a wider range. All looks together are then wrong
one time in twenty. Between the two ranges the claim is undecided, as a wider range must not turn a misfit into support.
"""

import math
from dataclasses import replace
from typing import Annotated

import numpy as np
from pydantic import Field

from lnlab.analyse.statistics.intervals import MAX_SEEDS_NEEDED
from lnlab.claims.claim import Finding, VerdictLabel, claims
from lnlab.claims.criterion import ONE_LOOK, Criterion
from lnlab.claims.outlook import outlook_text
from lnlab.claims.region import Region, number_text
from lnlab.claims.sample import exclusion_notes, one_number_per_seed, series_sample
from lnlab.claims.significance import ALPHA
from lnlab.claims.student import measured_finding, unjudged_finding
from lnlab.claims.verdict_text import coverage_text
from lnlab.keys import Json
from lnlab.select.series import select_series
from lnlab.tables import Results

_MEANS = 20_000


@claims.register("printed_mean", about=("mean",), law=False, margin=False)
def printed_mean(
    results: Results,
    criterion: Criterion = ONE_LOOK,
    *,
    of: dict[str, Json],
    mean: Annotated[float, Field(gt=0)],
    draws: Annotated[int, Field(ge=1, le=1000)],
) -> Finding:
    """``q(0.025) <= m <= q(0.975)``: a printed mean is one of so many draws of ours (Krishnamoorthy, 2003).

    ``mean`` is the printed number, an arithmetic mean. ``draws`` is how many numbers it is the mean of. Accepted
    is the middle 95 % of such means, by the logarithms of our seeds.
    """
    observed = select_series(results, of)
    sample = series_sample(observed, one_number_per_seed(observed), log=True)
    statistic = f"printed mean of {draws} draws"
    if unjudged := unjudged_finding(statistic, sample, Region(), None, criterion):
        return replace(unjudged, estimate=mean, low=None, high=None)
    numbers = list(sample.numbers.values())
    region, wider = predicted_means(numbers, draws), predicted_means(numbers, draws, 1 - criterion.level)
    verdict: VerdictLabel = "supported" if mean in region else "undecided" if mean in wider else "contradicted"
    counted = measured_finding(statistic, sample, region)
    ours = f"the mean of our {len(numbers)} is {number_text(float(np.mean(numbers)))}"
    reason = f"of {draws} draws such as ours {coverage_text(ALPHA)} have a mean {region}; {ours}"
    if verdict == "undecided":
        reason += f"; at this look {coverage_text(criterion.level)} decide, a mean {wider}"
        reason += f"; {outlook_text(_deciding_seeds(numbers, mean, draws, criterion), sample.total, criterion)}"
    return replace(
        counted,
        verdict=verdict,
        reason=reason + exclusion_notes(sample),
        estimate=mean,
        low=None,
        high=None,
        tested=True,
    )


def _deciding_seeds(numbers: list[float], mean: float, draws: int, criterion: Criterion) -> int | None:
    """The first doubled number of seeds with logarithms such as these that decides at the next look."""
    n = 2 * len(numbers)
    while n <= MAX_SEEDS_NEEDED:
        wider = predicted_means(numbers, draws, 1 - criterion.next_level, n)
        if mean in predicted_means(numbers, draws, seeds=n) or mean not in wider:
            return n
        n *= 2
    return None


def predicted_means(numbers: list[float], draws: int, level: float = 0.95, seeds: int | None = None) -> Region:
    """The interval that holds the mean of further draws with probability ``level``, from the logarithms of these.

    ``seeds``: as if so many seeds had the mean and the standard deviation of these.
    """
    logs = np.log(numbers)
    # A fixed seed: the same numbers always have the same verdict.
    random = np.random.Generator(np.random.PCG64(0))
    n = seeds or logs.size
    means = np.zeros(_MEANS)
    sd = logs.std(ddof=1) * np.sqrt((n - 1) / random.chisquare(n - 1, _MEANS))
    center = logs.mean() + sd * random.standard_normal(_MEANS) / math.sqrt(n)
    for _ in range(draws):
        means += np.exp(center + sd * random.standard_normal(_MEANS)) / draws
    low, high = np.quantile(means, ((1 - level) / 2, (1 + level) / 2))
    return Region(float(low), float(high))
