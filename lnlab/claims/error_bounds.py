"""How often the verdicts of a page may be wrong, computed from the verdicts: their bounds, and the sum.

    error_sentence(verdicts)     the sentence for a page
    error_bound(verdict)         the probability that a verdict's word is wrong, whatever the truth

The bounds add up whatever the dependence between claims (Boole). They hold for other seeds, with everything else fixed.
"""

import math
from collections.abc import Sequence

from lnlab.claims.claim import Verdict
from lnlab.seed_words import seeds_word

DECIDED = ("supported", "contradicted", "smaller", "beyond")
_WITHOUT_SEEDS = ("cited", "edges")
"""Kinds that judge other verdicts."""
EXACT_STATISTIC = "worst sample"
"""The statistic of a bound on every sample, which is decided by counting."""


def error_sentence(verdicts: Sequence[Verdict]) -> str:
    """How many claims there are and how often they may be wrong. Empty without a claim about seeds."""
    judged = [verdict for verdict in verdicts if is_about_seeds(verdict)]
    if not judged:
        return ""
    decided = sum(verdict.verdict in DECIDED for verdict in judged)
    again = sum(verdict.look > 1 for verdict in judged)
    bounds = [error_bound(verdict) for verdict in judged]
    total = math.fsum(bounds)
    low, high = (f"{_rounded_up(100 * bound, 3):g}" for bound in (min(bounds), max(bounds)))
    chance = f"{high} %" if low == high else f"{low} to {high} %"
    if len(judged) == 1:
        fate = "decided" if decided else "not decided"
        looked = ", after more than one look" if again else ""
        return (
            f"The page has one claim, which is {fate}{looked}. Whatever the truth, over draws of {seeds_word()} "
            f"its verdict is wrong with probability at most {chance}."
        )
    counts = f"{len(judged)} claims, {decided} decided, {again} looked at more than once."
    each = (
        f"Whatever the truth, over draws of {seeds_word()} the verdict of a claim is wrong with probability at most "
        f"{chance}. "
        f"The expected number of wrong verdicts among the {len(judged)} is at most {_rounded_up(total, 2):g}"
    )
    none_wrong = 0.01 * math.floor((1 - total) / 0.01 + 1e-9)  # rounded down, where the others are rounded up
    none = f", and with probability at least {none_wrong:g} none is wrong" if total < 1 else ""
    return f"{counts} {each}{none}."


def _rounded_up(value: float, digits: int) -> float:
    """Round a bound up to ``digits`` significant digits, ignoring the rounding error of its sum."""
    unit: float = 10.0 ** (math.floor(math.log10(value)) - digits + 1) if value > 0 else 1.0
    return math.ceil(value / unit - 1e-9) * unit


def is_about_seeds(verdict: Verdict) -> bool:
    """Whether a verdict could have been another with other seeds, and no rule forbids it."""
    return verdict.kind not in _WITHOUT_SEEDS and verdict.statistic != EXACT_STATISTIC


def error_bound(verdict: Verdict) -> float:
    """The largest probability that the word of a verdict is wrong, over all looks.

    Both words can be wrong only where both have an edge, or where the margin is ours. With one edge and the margin of
    the source, one of the two words is right, so only half the level is at stake.
    """
    one_sided = (verdict.region_low is None) != (verdict.region_high is None)
    return verdict.bound / 2 if one_sided and verdict.margin == "source" else verdict.bound
