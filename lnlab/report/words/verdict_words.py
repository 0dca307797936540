"""What the verdicts say together: the answer of the page, the symbol and the words of each verdict."""

import math
import re
from collections import Counter
from collections.abc import Sequence

from lnlab.claims.claim import Verdict
from lnlab.claims.error_bounds import error_sentence
from lnlab.claims.region import edge_left_out, number_text
from lnlab.claims.significance import ALPHA
from lnlab.claims.verdict_text import (
    VERDICT_SYMBOLS,
    counted_word,
    elsewhere_text,
    law_text,
    level_text,
    statistic_words,
)
from lnlab.report.words.wording import count_noun, format_interval, region_in_words
from lnlab.seed_words import counted_seeds, seeds_word

VERDICT_CLASSES = {word: word.partition(" ")[0] for word in VERDICT_SYMBOLS}
_MOMENT = re.compile(r", (?:at init|after \d+ (?:to \d+ )?updates?)(?=[,;]|$)")
"""When the numbers of a claim were measured, in its scope."""


def verdict_count_sentence(verdicts: Sequence[Verdict]) -> str:
    """One line that counts every claim: the primary ones, then all of them where there are others."""
    if not verdicts:
        return "No claim was judged."
    primary = [v for v in verdicts if v.primary]
    if len(primary) in (0, len(verdicts)):
        return f"{_tally(verdicts, 'claim')}."
    all_counts = (
        f"of all {len(verdicts)}: {', '.join(f'{k} {counted_word(word)}' for word, k in verdict_counts(verdicts))}"
    )
    return f"{_tally(primary, 'primary claim')}; {all_counts}."


def _tally(verdicts: Sequence[Verdict], what: str) -> str:
    """``4 of 6 claims supported, 2 contradicted``: the first verdict that any claim got, then the others."""
    (first, k), *others = verdict_counts(verdicts)
    return ", ".join(
        [
            f"{k} of {count_noun(len(verdicts), what)} {counted_word(first)}",
            *(f"{n} {counted_word(word)}" for word, n in others),
        ]
    )


def verdict_counts(verdicts: Sequence[Verdict]) -> list[tuple[str, int]]:
    """How many claims got each verdict, without those that none got."""
    counts: Counter[str] = Counter(v.verdict for v in verdicts)
    return [(word, counts[word]) for word in VERDICT_SYMBOLS if counts[word]]


def criterion_text(verdict: Verdict) -> str:
    """``Last/first over layer: at least 2.5 is accepted; 10 of 10 seeds within.``, or nothing without a region."""
    if verdict.region_low is None and verdict.region_high is None:
        return ""
    inside = f"; {verdict.inside} of {counted_seeds(verdict.n)} within" if _has_number(verdict) else ""
    words = statistic_words(verdict)
    statistic = f"{words[0].upper()}{words[1:]}; a" if words else "A"
    owner = " (margin: ours)" if verdict.margin == "ours" else ""
    law = f"; {text}" if (text := law_text(verdict)) else ""
    elsewhere = f" The word is {text}." if (text := elsewhere_text(verdict)) else ""
    return f"{statistic}ccepted: {_accepted_range(verdict)}{owner}{inside}{law}.{elsewhere}"


def _has_number(verdict: Verdict) -> bool:
    """Whether its seeds have numbers, of which some are within. Too few levels give none."""
    return verdict.n > 0 and verdict.estimate is not None


def _accepted_range(verdict: Verdict) -> str:
    """The accepted range in words: of an order whose interval lies outside and ends at its edge, without the edge."""
    edges = verdict.region_low, verdict.region_high
    disjoint = verdict.kind == "order" and verdict.verdict == "contradicted" and verdict.about != "share"
    edge = edge_left_out(*edges, verdict.low, verdict.high) if disjoint else None
    return region_in_words(*edges) + ("" if edge is None else f", without {number_text(edge)} itself")


def intervals_sentence(verdicts: Sequence[Verdict]) -> str:
    """State how much the intervals of a page cover."""
    if all(verdict.level == ALPHA for verdict in verdicts):
        return f"Estimates have 95 % intervals over {seeds_word()}"
    levels = "at 95 %, or after several looks at the level beside them"
    return f"Intervals over {seeds_word()} are those that decided: {levels}"


def common_scope(verdicts: Sequence[Verdict]) -> str:
    """The setting that most claims share, or nothing where no two share one.

    When something was measured is part of it only if that is the same in every claim: beside a figure of another step
    it would be read as that of the figure.
    """
    scopes = [verdict.scope for verdict in verdicts if verdict.scope and verdict.n]
    if len({moment for scope in scopes for moment in _MOMENT.findall(scope)}) > 1:
        scopes = [_MOMENT.sub("", scope) for scope in scopes]
    scope, n = next(iter(Counter(scopes).most_common(1)), ("", 0))
    return scope if n > 1 or len(verdicts) == 1 else ""


def verdict_interval(verdict: Verdict) -> str:
    """``6.8 [6.1, 7.5]``: the estimate of a verdict with its interval."""
    numbers = verdict.seeds.values()
    agree = verdict.about != "median" or not numbers or math.isclose(min(numbers), max(numbers))
    return format_interval(verdict.estimate, verdict.low, verdict.high, agree=agree)


def statistic_text(verdict: Verdict) -> str:
    """``last/first 6.8 [6.1, 7.5]; accepted: at least 2.5; 10 of 10 seeds within``."""
    parts = [f"{statistic_words(verdict)} {verdict_interval(verdict)}".strip()]
    if verdict.region_low is not None or verdict.region_high is not None:
        parts.append(f"accepted: {_accepted_range(verdict)}")
    parts += filter(None, (law_text(verdict), level_text(verdict)))
    if _has_number(verdict):
        parts.append(f"{verdict.inside} of {counted_seeds(verdict.n)} within")
    return "; ".join(parts)


def multiplicity_sentence(verdicts: Sequence[Verdict]) -> str:
    """State how far to trust a page with several verdicts at once, computed from the verdicts."""
    return error_sentence(verdicts)
