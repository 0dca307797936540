"""Verdicts as a reader sees them in a terminal: a symbol, the sentence, the numbers that decided."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from lnlab.app.formats import format_count
from lnlab.claims.verdict_text import VERDICT_SYMBOLS, counted_word, estimate_text, region_text, verdict_label
from lnlab.cli.terminal import terminal_table

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


def verdict_table(verdicts: "Sequence[Verdict]") -> Table:
    """One row a claim, in the order of the spec. A star marks those that count in the headline."""
    rows: list[list[RenderableType]] = [
        [
            Text(f"{VERDICT_SYMBOLS[v.verdict]} {verdict_label(v)}", style=_STYLES[v.verdict]),
            f"{v.says}{' *' if v.primary else ''}",
            estimate_text(v),
            region_text(v),
            str(v.n),
        ]
        for v in verdicts
    ]
    return terminal_table(
        ["verdict", "claim", "estimate [interval]", "accepted range", "seeds"], rows, numeric=["seeds"]
    )


def reason_lines(verdicts: "Sequence[Verdict]") -> list[str]:
    """The reasons of claims that are not supported, a line each."""
    claims_by_reason: dict[tuple[str, str], list[str]] = {}
    for verdict in verdicts:
        if verdict.verdict != "supported":
            claims_by_reason.setdefault((VERDICT_SYMBOLS[verdict.verdict], verdict.reason), []).append(verdict.claim)
    return [f"{symbol} {', '.join(claims)}: {reason}" for (symbol, reason), claims in claims_by_reason.items()]


def verdict_counts_line(verdicts: "Sequence[Verdict]") -> str:
    """``12 claims: 10 supported, 1 contradicted, 1 undecided``."""
    outcomes = [v.verdict for v in verdicts]
    parts = [f"{outcomes.count(word)} {counted_word(word)}" for word in VERDICT_SYMBOLS if word in outcomes]
    return f"{format_count(len(outcomes), 'claim')}: {', '.join(parts)}"


def verdict_as_plain(verdict: "Verdict") -> dict[str, Any]:
    """A verdict as plain values."""
    return {"claim": verdict.claim, **asdict(verdict), "seeds": dict(verdict.seeds)}
