"""How many seeds would decide a claim that those of today leave undecided, as far as these tell.

    mean             smallest n with t(1 - a/2, n-1) s/√n < distance of the estimate to the nearest edge
    median, share    smallest n that decides if as large a share of n as of today's seeds is alike (Clopper & Pearson)

``a`` is the level of the next look, or of this one where the seeds are too few for any. At that n the expected interval
ends at the edge, so that about half of all experiments need more. Looks are pooled at doubled numbers of seeds, or at
the declared ones. Fresh seeds alone are a look of any size. What is stated is the one of the two that needs fewer runs.
"""

import math
from functools import lru_cache

import numpy as np
import scipy  # scipy.special takes a while to import, and loads when it is first used

from lnlab.analyse.statistics.intervals import MAX_SEEDS_NEEDED, Interval, sd_range, seeds_needed
from lnlab.claims.criterion import ONE_LOOK, Criterion
from lnlab.claims.region import Region, edge_distance
from lnlab.claims.sample import Sample
from lnlab.seed_words import seeds_word

ON_THE_EDGE = 100
"""Beyond so many seeds an estimate is said to lie on the edge."""
_HALF = 0.5


def seeds_needed_text(
    interval: Interval, allowed: Region, sample: Sample, criterion: Criterion = ONE_LOOK, least: int = 0
) -> str:
    """How many seeds would decide a mean or a median, with the range of that number where it has one.

    Args:
        interval: of the sample.
        allowed: the declared region.
        sample: the numbers.
        criterion: estimand and levels.
        least: the fewest seeds for a verdict, where the sample has fewer. The next look is then this one, unless these
            seeds were looked at before. 0 means that the sample was judged.
    """
    first = bool(least) and not criterion.seen
    level = criterion.level if first else criterion.next_level
    edges = [edge for edge in (allowed.low, allowed.high) if edge is not None]
    if criterion.about == "median":
        nearest = min(edges, key=lambda edge: abs(interval.estimate - edge))
        numbers = [*sample.numbers.values(), *(sample.worst or {}).values()]
        k = sum((x > nearest) == (interval.estimate > nearest) for x in numbers)
        return outlook_text(alike_seeds(k, len(numbers), 1 - level, least), sample.total, criterion, first=first)
    gap = edge_distance(interval.estimate, allowed, log=sample.log)
    # Of so many seeds as many fail as of today's.
    per_number = sample.total / interval.n
    spread = [seeds_needed(sd, gap, 1 - level) for sd in (interval.sd, *sd_range(interval.sd, interval.n))]
    needed, low, high = (None if n is None else max(math.ceil(n * per_number), least) for n in spread)
    ends = "" if needed is None else f" ({low:,} to {f'{high:,}' if high else f'more than {MAX_SEEDS_NEEDED:,}'})"
    return outlook_text(needed, sample.total, criterion, ends, first=first)


@lru_cache(maxsize=4096)
def alike_seeds(k: int, n: int, coverage: float, least: int = 0) -> int | None:
    """The smallest number of seeds that decides on which side of one half they are, if as many are as k of n.

    It is more than n, at least ``least``, and None beyond ``MAX_SEEDS_NEEDED``.
    """
    side = max(k, n - k)
    first, size = max(n + 1, least), 64
    while first <= MAX_SEEDS_NEEDED:  # in blocks that double: mostly the first has it, and 10,000 quantiles take long
        needed = np.arange(first, min(first + size, MAX_SEEDS_NEEDED + 1))
        # Rounded down: as large a share as here may be no whole number of seeds.
        alike = side * needed // n
        enough = np.flatnonzero(scipy.special.betaincinv(alike, needed - alike + 1, (1 - coverage) / 2) >= _HALF)
        if enough.size:
            return int(needed[enough[0]])
        first, size = first + size, 2 * size
    return None


def outlook_text(needed: int | None, seeds: int, criterion: Criterion, ends: str = "", *, first: bool = False) -> str:
    """``about 15 seeds would decide (12 to 21): 10 more for a look at 20``.

    Args:
        needed: the number that would decide, or None if it exceeds ``MAX_SEEDS_NEEDED``.
        seeds: how many there are.
        criterion: the declared sizes of looks.
        ends: the range of ``needed``, in words.
        first: whether these seeds were too few for a look, so that the next may have any size.
    """
    if needed is None:
        return f"on the edge: more than {MAX_SEEDS_NEEDED:,} {seeds_word()} would be needed"
    text = f"about {needed:,} {seeds_word()} would decide{ends}"
    if needed > ON_THE_EDGE:
        text = f"on the edge: about {needed:,} {seeds_word()} would be needed{ends}"
    if criterion.sizes:
        size = next((size for size in criterion.sizes if size >= max(needed, seeds + 1)), None)
        return f"{text}, and no declared look has as many" if size is None else f"{text}: {size - seeds:,} more"
    if first:
        return f"{text}: {needed - seeds:,} more"
    size = 2 * seeds
    while size < needed:
        size *= 2
    more = size - seeds
    return f"{text}: {more:,} more for a look at {size:,}" if more <= needed else f"{text}: {needed:,} fresh ones alone"
