"""What the verdicts say together: the answer of the page, the symbol and the words of each verdict."""

from collections import Counter
from collections.abc import Sequence

from lnlab.claims.claim import Verdict
from lnlab.claims.error_bounds import error_sentence
from lnlab.report.words.wording import count_noun, format_interval, region_in_words

VERDICT_SYMBOLS = {
    "supported": "✓",
    "contradicted": "✗",
    "smaller": "‹",
    "undecided": "?",
    "not testable here": "–",
    "ill-posed": "!",
}
VERDICT_CLASSES = {word: word.partition(" ")[0] for word in VERDICT_SYMBOLS}


def verdict_count_sentence(verdicts: Sequence[Verdict]) -> str:
    """One line that counts every claim: the primary ones, then all of them where there are others."""
    if not verdicts:
        return "No claim was judged."
    primary = [v for v in verdicts if v.primary]
    if len(primary) in (0, len(verdicts)):
        return f"{_tally(verdicts, 'claim')}."
    all_counts = f"of all {len(verdicts)}: {', '.join(f'{k} {word}' for word, k in verdict_counts(verdicts))}"
    return f"{_tally(primary, 'primary claim')}; {all_counts}."


def _tally(verdicts: Sequence[Verdict], what: str) -> str:
    """``4 of 6 claims supported, 2 contradicted``: the first verdict that any claim got, then the others."""
    (first, k), *others = verdict_counts(verdicts)
    return ", ".join([f"{k} of {count_noun(len(verdicts), what)} {first}", *(f"{n} {word}" for word, n in others)])


def verdict_counts(verdicts: Sequence[Verdict]) -> list[tuple[str, int]]:
    """How many claims got each verdict, without those that none got."""
    counts: Counter[str] = Counter(v.verdict for v in verdicts)
    return [(word, counts[word]) for word in VERDICT_SYMBOLS if counts[word]]


def criterion_text(verdict: Verdict) -> str:
    """``Last/first over layer: at least 2.5 is accepted; 10 of 10 seeds within.``, or nothing without a region."""
    if verdict.region_low is None and verdict.region_high is None:
        return ""
    inside = f"; {verdict.inside} of {count_noun(verdict.n, 'seed')} within" if verdict.n else ""
    statistic = f"{verdict.statistic[0].upper()}{verdict.statistic[1:]}: a" if verdict.statistic else "A"
    return f"{statistic}ccepted is {region_in_words(verdict.region_low, verdict.region_high)}{inside}."


def common_scope(verdicts: Sequence[Verdict]) -> str:
    """The setting that most claims share, or nothing where no two share one."""
    scope, n = next(iter(Counter(v.scope for v in verdicts if v.scope and v.n).most_common(1)), ("", 0))
    return scope if n > 1 or len(verdicts) == 1 else ""


def statistic_text(verdict: Verdict) -> str:
    """``last/first 6.8 [6.1, 7.5]; accepted: at least 2.5; 10 of 10 seeds within``."""
    parts = [f"{verdict.statistic} {format_interval(verdict.estimate, verdict.low, verdict.high)}".strip()]
    if verdict.region_low is not None or verdict.region_high is not None:
        parts.append(f"accepted: {region_in_words(verdict.region_low, verdict.region_high)}")
    if verdict.n:
        parts.append(f"{verdict.inside} of {count_noun(verdict.n, 'seed')} within")
    return "; ".join(parts)


def multiplicity_sentence(verdicts: Sequence[Verdict]) -> str:
    """How far to trust a page with several verdicts at once, computed from the verdicts."""
    return error_sentence(verdicts)
