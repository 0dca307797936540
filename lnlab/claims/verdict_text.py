"""A verdict in words, the same on pages, in indexes and in a terminal. The module imports nothing slow."""

import re
from typing import TYPE_CHECKING

from lnlab.claims.significance import ALPHA, holds_value
from lnlab.select.axis_words import setting_name

if TYPE_CHECKING:
    from lnlab.claims.claim import Verdict

MINUS = "−"
VERDICT_SYMBOLS = {
    "supported": "✓",
    "contradicted": "✗",
    "smaller": "‹",
    "beyond": "≠",
    "undecided": "?",
    "not testable here": "–",
    "ill-posed": "!",
}
_COUNTED = {"smaller": "smaller than asked", "beyond": "larger than allowed"}
VERDICT_MEANINGS = {
    "supported": "the interval lies within the accepted range",
    "contradicted": "the interval lies outside the accepted range",
    "smaller": "smaller than the effect that we ask for, but not contradicted",
    "beyond": "larger than the small effect that we allow, which contradicts nobody",
    "undecided": "the interval crosses an edge of the range, or too few seeds",
    "not testable here": "what it requires does not hold, or no run has it",
    "ill-posed": "the claim asks for what these rows cannot answer",
}
"""What each verdict says of the interval over seeds."""
_INTERVAL_CLAUSE = re.compile(r"% interval\b.*\b(?:lies|reaches|falls short|is wholly)\b")
_FURTHER = re.compile(
    r": ([\d,]+) (?:more|fresh ones)\b"
    r"|([\d,]+) [^\W\d][^;:\d]*; (?:a verdict needs|the next declared look is at) ([\d,]+)"
)
"""How ``claims.outlook`` and the rules on few seeds state how many more are needed."""


def counted_word(word: str) -> str:
    """A verdict as it is counted among others, where its margin cannot be told."""
    return _COUNTED.get(word, word)


def verdict_label(verdict: "Verdict") -> str:
    """``contradicted: the other way``, ``smaller than 2×``, ``larger than allowed, above the range``."""
    if verdict.verdict == "beyond":
        return ", ".join(filter(None, (counted_word("beyond"), verdict.detail)))
    if verdict.verdict != "smaller":
        return ": ".join(filter(None, (verdict.verdict, verdict.detail)))
    # The effect that was not reached: a factor above 1 of ratios, whichever way they go, else a distance.
    edge = verdict.region_low if verdict.region_low is not None else verdict.region_high
    margin = "the margin" if edge is None else _number(abs(edge))
    if edge is not None and verdict.measure == "ratio" and edge > 0:
        margin = f"{max(edge, 1 / edge):.3g}×"
    return ", ".join(filter(None, (f"smaller than {margin}", verdict.detail)))


def reason_beside_numbers(verdict: "Verdict") -> str:
    """The reason of a verdict without the clauses that repeat its interval and its accepted range."""
    clauses = [clause for clause in verdict.reason.split("; ") if not _INTERVAL_CLAUSE.search(clause)]
    return "; ".join(clauses)


def lacks_seeds(reason: str) -> bool:
    """Whether a claim is undecided by a rule on the number of seeds alone."""
    return "; a verdict needs " in reason


def law_text(verdict: "Verdict") -> str:
    """What the interval says of the value that the sentence names: ``−0.5 itself is rejected``. Empty without one.

    The interval of the most extreme of several places tests no such value, as the most extreme lies beyond it by chance
    alone. Where the value lies outside of it, the text says so without a rejection.
    """
    if verdict.law is None:
        return ""
    value = _number(verdict.law)
    if verdict.law_word is not None:
        return f"compatible with {value}" if verdict.law_word == "compatible" else f"{value} itself is rejected"
    if verdict.low is None or verdict.high is None or holds_value(verdict.low, verdict.high, verdict.law):
        return ""
    return f"{value} lies outside this interval, which belongs to the most extreme place"


def further_seeds(reason: str) -> int | None:
    """How many seeds are to be run for the next look, as the reason of an undecided verdict states them, or None."""
    found = list(_FURTHER.finditer(reason))
    if not found:
        return None
    # A rule alone is stated first, and what the numbers ask for after it.
    more, held, least = (int(group.replace(",", "")) if group else 0 for group in found[-1].groups())
    return more or least - held


def of_fresh_seeds(reason: str) -> bool:
    """Whether the seeds of the next look are to be judged alone, as the reason of an undecided verdict states them."""
    found = list(_FURTHER.finditer(reason))
    return bool(found) and "fresh ones" in found[-1].group()


def level_text(verdict: "Verdict") -> str:
    """``look 2, 98.75 %``: which look decided and how much its interval covers, or "" for a single look at 95 %."""
    if verdict.look == 1 and verdict.level == ALPHA:
        return ""
    return f"look {verdict.look}, {coverage_text(verdict.level)}"


def coverage_text(level: float) -> str:
    """``98.75 %``: how often an interval at a two-sided level covers."""
    return f"{100 * (1 - level):.6g} %"


def _number(value: float) -> str:
    return f"{value:.6g}".replace("-", MINUS)


def statistic_words(verdict: "Verdict") -> str:
    """What was estimated: ``no warm-up minus warm-up``, as a hyphen between names or numbers reads as part of them."""
    # a name may hold a hyphen between spaces itself; of several of them, none is known to be the difference
    one_difference = verdict.kind == "order" and verdict.statistic.count(" - ") == 1
    return verdict.statistic.replace(" - ", " minus ") if one_difference else verdict.statistic


def estimate_alone(verdict: "Verdict") -> str:
    """``0.03 [-0.02, 0.08]`` of a verdict that has an estimate."""
    interval = "" if verdict.low is None or verdict.high is None else f" [{verdict.low:.3g}, {verdict.high:.3g}]"
    return f"{verdict.estimate:.3g}{interval}"


def estimate_text(verdict: "Verdict") -> str:
    """``exponent 0.03 [-0.02, 0.08]``, or the statistic alone where nothing could be estimated."""
    if verdict.estimate is None:
        return statistic_words(verdict)
    level = f" ({text})" if (text := level_text(verdict)) else ""
    return f"{statistic_words(verdict)} {estimate_alone(verdict)}{level}"


def elsewhere_text(verdict: "Verdict") -> str:
    """``the same at 4 of 5 values of the learning rate``: what the test says at the other settings, or ""."""
    counts = (
        f"the same at {same} of {total} values of the {setting_name(path)}"
        for path, (same, total) in verdict.elsewhere.items()
    )
    return "; ".join(counts)


def region_text(verdict: "Verdict") -> str:
    """The declared region: ``-0.15 to 0.15``, ``at least 2.5``, ``at most 1.5``."""
    low, high = verdict.region_low, verdict.region_high
    region = f"at least {low:.3g}" if low is not None else f"at most {high:.3g}" if high is not None else ""
    if low is not None and high is not None:
        region = f"{low:.3g} to {high:.3g}"
    owner = " (ours)" if region and verdict.margin == "ours" else ""
    return "; ".join(filter(None, (f"{region}{owner}", law_text(verdict))))
