"""Numbers and names in the sentences of rules."""

from collections.abc import Iterable, Sequence

from lnlab.claims.claim import Verdict
from lnlab.claims.region import number_text
from lnlab.keys import Json


def estimate(verdict: Verdict) -> str:
    """``0.111 [0.084, 0.137]``, of a verdict that has an estimate."""
    return with_interval(verdict.estimate, verdict.low, verdict.high)


def with_interval(value: float | None, low: float | None, high: float | None) -> str:
    """A number with its interval, if it has one."""
    interval = "" if low is None or high is None else f" [{number_text(low)}, {number_text(high)}]"
    return f"{number_text(value)}{interval}"


def in_words(values: Iterable[Json], last: str = "and") -> str:
    """``a, b and c``. Beyond five values their number."""
    words = [str(value) for value in values]
    if len(words) > 5:
        words = [*words[:4], f"{len(words) - 4} more"]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}" if words else ""


def counted(number: int, noun: str) -> str:
    """``1 rate``, ``4 rates``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def spread(values: Sequence[float], digits: int = 2) -> str:
    """``2.3``, or ``0.4 to 2`` where the values differ."""
    low, high = (f"{value:.{digits}g}" for value in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"
