"""What the verdicts say together: the answer of the page, the symbol and the words of each verdict."""

from collections import Counter
from collections.abc import Sequence

from lnlab.claims.claim import Verdict
from lnlab.report.wording import count, interval, listing, region

SYMBOLS = {"supported": "✓", "contradicted": "✗", "undecided": "?", "not testable here": "–", "ill-posed": "!"}
CLASSES = {word: word.partition(" ")[0] for word in SYMBOLS}


def answer(verdicts: Sequence[Verdict]) -> str:
    """One line: how many of the primary claims (of all, where none is primary) got which verdict."""
    judged, what = _headline(verdicts)
    if not judged:
        return "No claim was judged."
    counts: Counter[str] = Counter(v.verdict for v in judged)
    if len(counts) == 1 and len(judged) > 1:
        return f"All {len(judged)} {what}s are {judged[0].verdict}."
    parts = [f"{counts[word]} {'is' if counts[word] == 1 else 'are'} {word}" for word in SYMBOLS if counts[word]]
    return f"Of {count(len(judged), what)}, {listing(parts)}."


def headline(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """The verdicts that the answer counts, contradicted first: what a reader must not miss."""
    order = ["contradicted", "ill-posed", "supported", "undecided", "not testable here"]
    return sorted(_headline(verdicts)[0], key=lambda v: order.index(v.verdict) if v.verdict in order else len(order))


def _headline(verdicts: Sequence[Verdict]) -> tuple[list[Verdict], str]:
    primary = [v for v in verdicts if v.primary]
    return (primary, "primary claim") if primary else (list(verdicts), "claim")


def statistic(verdict: Verdict) -> str:
    """``last/first 6.8 [6.1, 7.5]; declared: at least 2.5; 10 of 10 seeds inside``."""
    parts = [f"{verdict.statistic} {interval(verdict.estimate, verdict.low, verdict.high)}".strip()]
    if verdict.region_low is not None or verdict.region_high is not None:
        parts.append(f"declared: {region(verdict.region_low, verdict.region_high)}")
    if verdict.n:
        parts.append(f"{verdict.inside} of {count(verdict.n, 'seed')} inside")
    return "; ".join(parts)


def multiplicity(verdicts: Sequence[Verdict]) -> str:
    """How far to trust a page with several verdicts at once."""
    judged, what = _headline(verdicts)
    wrong = 0.05 * len(judged)
    return (
        f"{count(len(judged), what).capitalize()}, each wrong at most 5 % of the time; "
        f"if every one of them lay on the edge of its region, {wrong:.2g} wrong verdicts would be expected."
    )
