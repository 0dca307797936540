"""What claims over several levels share: which seeds have a logarithm at every level, and whether levels suffice."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from lnlab.claims.claim import Finding
from lnlab.claims.region import Region
from lnlab.claims.sample import Arm, Sample, exclusion_notes, reason_pending, series_sample
from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.seed_words import seed_word
from lnlab.select.series import SeedSeries

MIN_LEVELS = 4


def numeric_levels(series: SeedSeries, over: str, *, positive: bool) -> np.ndarray:
    """The levels as numbers.

    Raises:
        LabError: they are words, or one must be positive and is not.
    """
    # Levels are float64 where all are numbers, else words.
    words = [x for x in series.levels if not isinstance(x, float) or (positive and x <= 0)]
    if words:
        kind = "positive numbers" if positive else "numbers"
        raise LabError(Issue("conflict", "over", f"{over} is {words[0]!r} here", f"this kind of claim needs {kind}"))
    return np.array(series.levels, dtype=float)


def unfit_reason(
    series: SeedSeries, levels: np.ndarray, over: str, kind: str, span: float = 1.0, least: int = MIN_LEVELS
) -> str | None:
    """Why the levels do not carry a claim, or None: ``least`` of them, and from first to last a factor ``span``.

    ``kind`` is the claim's in words: ``a trend``.
    """
    if series.pending:
        return reason_pending(series.pending, series.total)
    if not series.seeds:
        return f"no {seed_word()} of {series.total} has all its numbers"
    if len(levels) < least:
        return f"{len(levels)} level{'' if len(levels) == 1 else 's'} of {over}; {kind} needs {least}"
    if span > 1 and levels[-1] < span * levels[0]:
        return f"{over} spans a factor of {levels[-1] / levels[0]:.3g}; {kind} needs {span:g}"
    return None


def unfit_finding(series: SeedSeries, statistic: str, reason: str, allowed: Region) -> Finding:
    """The finding where the levels do not carry a claim."""
    full_reason = reason + exclusion_notes(series_sample(series, {}, log=True))
    n = len(series.seeds)
    return Finding(
        "undecided",
        statistic,
        full_reason,
        region_low=allowed.low,
        region_high=allowed.high,
        n=n,
        unfit=n > 0 and not series.pending,
    )


def seed_statistics(
    series: SeedSeries,
    statistic: Callable[[np.ndarray], np.ndarray],
    *,
    log: bool,
    arms: tuple[Arm, ...] = (),
) -> tuple[Sample, np.ndarray]:
    """The ``statistic`` of each seed's row of numbers, and the usable rows (seeds, levels).

    A seed is usable if it is positive at every level. The others are counted as excluded. ``arms`` are the compared
    settings.
    """
    matrix = series.matrix
    usable: np.ndarray = np.all(matrix > 0, axis=1)
    values = iter(statistic(matrix[usable]).tolist())
    is_usable = dict(zip(series.seeds, usable.tolist(), strict=True))
    numbers = {seed: next(values) if is_usable[seed] else None for seed in series.seeds}
    return replace(series_sample(series, numbers, log=log), arms=arms), matrix[usable]
