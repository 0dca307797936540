"""Verdicts as a reader sees them in a terminal: each claim in at most three lines, and every sign explained below."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from textwrap import shorten, wrap
from typing import TYPE_CHECKING, Any

from rich.text import Text

from lnlab.app.formats import format_count
from lnlab.claims.verdict_text import (
    VERDICT_MEANINGS,
    VERDICT_SYMBOLS,
    counted_word,
    coverage_text,
    estimate_alone,
    lacks_seeds,
    level_text,
    reason_beside_numbers,
    region_text,
    statistic_words,
    verdict_label,
)
from lnlab.cli.terminal import out, out_width
from lnlab.seed_words import counted_seeds, seeds_word
from lnlab.specfile.citations import AUTHORED

if TYPE_CHECKING:
    from lnlab.claims.claim import Verdict

_STYLES = {
    "supported": "green",
    "contradicted": "bold red",
    "smaller": "magenta",
    "beyond": "cyan",
    "undecided": "yellow",
    "not testable here": "dim",
    "ill-posed": "bold yellow",
}
_CUT = "…"
_LINES = 3
"""What a claim takes at most."""
_SIGNS = {
    "(ours)": "this spec names the accepted range, not the source",
    "compatible with": "the interval holds the value that the sentence names",
    "itself is rejected": "the interval excludes the value that the sentence names",
    "spread": "largest over smallest",
}
"""What else may stand beside the numbers of a claim, and what it means."""


def print_verdicts(verdicts: "Sequence[Verdict]", committed: "Mapping[str, Verdict] | None" = None) -> None:
    """Print the claims, their counts and the signs that they use. A pipe gets each claim on one line.

    Args:
        verdicts: of all claims.
        committed: verdicts of a committed report by claim. They are shown beside those that differ from them.
    """
    width = out_width()
    lines = verdict_lines(verdicts, width, committed or {})
    for line in [*lines, *([Text()] if lines else []), *map(Text, legend_lines(verdicts, lines))]:
        out().print(line, soft_wrap=width is None)
    if told := too_few_seeds_line(verdicts, committed or {}):
        out().print(told)
    out().print(verdict_counts_line(verdicts))


def verdict_lines(
    verdicts: "Sequence[Verdict]", width: int | None, committed: "Mapping[str, Verdict] | None" = None
) -> list[Text]:
    """The lines of all claims, primary ones first. ``width`` None: one line a claim."""
    levels = Counter(level_text(verdict) for verdict in verdicts)
    usual = levels.most_common(1)[0][0] if levels else ""
    parts = {primary: [v for v in verdicts if v.primary == primary] for primary in (True, False)}
    lines = []
    for primary, claims in parts.items():
        if claims and all(parts.values()) and width is not None:
            lines.append(Text("Primary claims" if primary else "Other claims", style="bold"))
        for claim in claims:
            lines += _claim_lines(claim, width, usual, (committed or {}).get(claim.claim))
    return lines


def _claim_lines(verdict: "Verdict", width: int | None, usual: str, committed: "Verdict | None") -> list[Text]:
    symbol = VERDICT_SYMBOLS[verdict.verdict]
    style = _STYLES.get(verdict.verdict, "")
    note = _note(verdict, committed)
    if width is None:
        parts = (f"{symbol} {verdict.claim}: {verdict.says}", " ".join(_numbers(verdict, usual)), note)
        return [Text("  ".join(filter(None, parts)))]
    room = width - len(symbol) - 1
    statistic, numbers = _numbers(verdict, usual)
    # The name of the statistic gives way: the numbers stay whole.
    name = shorten(statistic, max(room - len(numbers) - 1, len(_CUT)), placeholder=_CUT)
    below = [] if verdict.estimate is None else [_cut(f"{name} {numbers}", room)]
    if note:  # what has no number has room for its whole reason
        below += wrap(f"{verdict.claim}: {note}", room, max_lines=_LINES - 1 - len(below), placeholder=f" {_CUT}")
    says = wrap(verdict.says, room, max_lines=_LINES - len(below), placeholder=f" {_CUT}")
    first = Text.assemble((symbol, style), " ", says[0])
    return [first, *(Text(f"{' ' * len(symbol)} {line}") for line in (*says[1:], *below))]


def _numbers(verdict: "Verdict", usual: str) -> tuple[str, str]:
    """What was estimated, and ``5.6 [4.14, 7.58] (look 4), accepted: at least 2.5 (ours)``."""
    level = level_text(verdict)
    region = f"accepted: {text}" if (text := region_text(verdict)) else ""
    if verdict.estimate is None:
        return statistic_words(verdict), f"({region})" if region else ""
    look = "" if level == usual else f" ({f'look {verdict.look}' if level else coverage_text(verdict.level)})"
    return statistic_words(verdict), ", ".join(filter(None, (f"{estimate_alone(verdict)}{look}", region)))


def _note(verdict: "Verdict", committed: "Verdict | None") -> str:
    """What symbol and numbers do not say: ``contradicted: the other way; profile real: supported``."""
    beside = committed is not None and committed.verdict != verdict.verdict
    label, reason = verdict_label(verdict), reason_beside_numbers(verdict)
    if not beside and (verdict.verdict == "supported" or (label == verdict.verdict and not reason)):
        return ""
    real = f"profile {AUTHORED}: {counted_word(committed.verdict)}" if committed is not None and beside else ""
    return "; ".join(filter(None, (label, real, "" if verdict.verdict == "supported" else reason)))


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else shorten(text, width, placeholder=f" {_CUT}")


def legend_lines(verdicts: "Sequence[Verdict]", lines: Sequence[Text] = ()) -> list[str]:
    """Every sign that ``lines`` use, and what it means, a line each."""
    text = "\n".join(map(str, lines))
    words = {verdict.verdict for verdict in verdicts}
    meanings = {word: meaning.replace("seeds", seeds_word()) for word, meaning in VERDICT_MEANINGS.items()}
    told = [f"{s} {counted_word(word)}: {meanings[word]}" for word, s in VERDICT_SYMBOLS.items() if word in words]
    intervals = [v for v in verdicts if v.low is not None]
    if intervals:
        usual = Counter((v.level, level_text(v)) for v in intervals).most_common()
        levels = [text for (_, text), _ in usual if text]
        seeds = {v.n for v in intervals}
        over = counted_seeds(next(iter(seeds))) if len(seeds) == 1 else seeds_word()
        look = f"; each look at further seeds widens it ({'; '.join(levels)})" if levels else ""
        told.append(f"[a, b] {coverage_text(usual[0][0][0])} interval over {over}{look}")
    told += [f"{sign}: {meaning}" for sign, meaning in _SIGNS.items() if re.search(rf"(?<!\w){re.escape(sign)}", text)]
    if _CUT in text:
        told.append(f"{_CUT} cut to the width of the terminal; a pipe gets it whole: lnlab run ... | cat")
    return told


def too_few_seeds_line(verdicts: "Sequence[Verdict]", committed: "Mapping[str, Verdict]") -> str:
    """Say that these seeds cannot decide, and what the committed report has decided, or nothing."""
    open_claims = [v for v in verdicts if v.verdict == "undecided" and lacks_seeds(v.reason)]
    if not open_claims:
        return ""
    found = [committed[v.claim] for v in open_claims if v.claim in committed]
    beside = f"; in profile {AUTHORED}: {_counts(found)}" if found else ""
    which = f"{len(open_claims)} of {format_count(len(verdicts), 'claim')}"
    return f"too few {seeds_word()}, by rule, to decide {which}{beside}"


def verdict_counts_line(verdicts: "Sequence[Verdict]") -> str:
    """``12 claims: 10 supported, 1 contradicted, 1 undecided``."""
    return f"{format_count(len(verdicts), 'claim')}: {_counts(verdicts)}"


def _counts(verdicts: "Sequence[Verdict]") -> str:
    outcomes = [v.verdict for v in verdicts]
    return ", ".join(f"{outcomes.count(word)} {counted_word(word)}" for word in VERDICT_SYMBOLS if word in outcomes)


def verdict_as_plain(verdict: "Verdict") -> dict[str, Any]:
    """A verdict as plain values."""
    return {"claim": verdict.claim, **asdict(verdict), "seeds": dict(verdict.seeds)}
