"""Verdicts in the order of their claims: a tuple that a notebook shows as a table."""

from typing import TYPE_CHECKING

from lnlab.claims.verdict_text import VERDICT_SYMBOLS, counted_word, estimate_text, region_text, verdict_label
from lnlab.html_tables import MOST_SHOWN, html_table

if TYPE_CHECKING:
    from lnlab.claims.claim import Verdict


class Verdicts(tuple["Verdict", ...]):
    """Verdicts, one a claim."""

    __slots__ = ()

    def __str__(self) -> str:
        """A line for each claim: its verdict, its name, its estimate, the accepted range and the number of seeds."""
        lines = []
        for verdict in self:
            accepted = f"; accepted: {text}" if (text := region_text(verdict)) else ""
            of = f"; n = {verdict.n}"
            lines.append(
                f"{VERDICT_SYMBOLS[verdict.verdict]} {verdict_label(verdict)}  {verdict.claim}: "
                f"{estimate_text(verdict)}{accepted}{of}"
            )
        return "\n".join(lines)

    def __repr__(self) -> str:
        """At most a screen of these lines, and how many more there are."""
        more = len(self) - MOST_SHOWN
        return f"{Verdicts(self[:MOST_SHOWN])}\nand {more:,} more; all: {self._counts()}" if more > 0 else str(self)

    def _counts(self) -> str:
        """``3 supported, 1 undecided``."""
        words = [verdict.verdict for verdict in self]
        return ", ".join(f"{words.count(word)} {counted_word(word)}" for word in VERDICT_SYMBOLS if word in words)

    def _repr_html_(self) -> str:
        counts = self._counts()
        claims = f"{len(self):,} claim{'' if len(self) == 1 else 's'}"
        columns = ["verdict", "claim", "estimate [interval]", "accepted range", "n"]
        rows = [
            (f"{VERDICT_SYMBOLS[v.verdict]} {verdict_label(v)}", v.says, estimate_text(v), region_text(v), v.n)
            for v in self
        ]
        return html_table(f"{claims}: {counts}" if counts else claims, columns, rows, numeric=["n"])
