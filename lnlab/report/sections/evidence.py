"""Verdicts that claims cite from other experiments, a row for each citation, as the other report has them."""

from collections.abc import Sequence

import polars as pl

from lnlab.claims.claim import Verdict
from lnlab.claims.verdict_text import VERDICT_SYMBOLS
from lnlab.report.section import Section, Table, sections
from lnlab.report.table import Cell, Grid
from lnlab.report.words.verdict_words import verdict_counts
from lnlab.report.words.wording import count_noun, format_interval, join_words, nonbreaking
from lnlab.tables import Results

_HEADINGS = {
    "citing": "claim here",
    "spec": "spec",
    "claim": "claim there",
    "verdict": "verdict",
    "statistic": "statistic",
    "estimate": "estimate",
    "low": "95 % low",
    "high": "95 % high",
    "n": "seeds",
    "reason": "why",
    "file": "digest of its verdicts",
}
_COLUMNS = ("claim here", "experiment", "claim there", "verdict", "estimate", "seeds")
_MISSING = "missing"


@sections.register("evidence")
def evidence(results: Results, verdicts: Sequence[Verdict]) -> Section:
    """``claim -> claims of other experiments``: every verdict that a claim cites, as its report has it (Berger, 1982).

    A row a citation, with the cited sentence, its verdict, its estimate with the interval of its report, and its seeds.
    What is missing is shown as missing. The heading counts the verdicts of the claims that cite.
    """
    finding = "No claim cites another experiment"
    if citing := [verdict for verdict in verdicts if verdict.kind == "cited"]:
        (word, first), *others = verdict_counts(citing)
        parts = [f"{first} {'is' if first == 1 else 'are'} {word}", *(f"{count} {word}" for word, count in others)]
        finding = f"Of {count_noun(len(citing), 'sentence')} {join_words(parts)}"
    if results.evidence.is_empty():
        return Section(finding)
    missing = pl.col("verdict").is_null()
    rows = results.evidence.with_columns(
        verdict=pl.col("verdict").fill_null(_MISSING),
        reason=pl.when(missing).then("reason"),
        file=pl.col("sha256").str.slice(0, 12),
    )
    subject = (
        "Verdicts from the reports of other experiments. Interval, statistic and number of seeds are those of the "
        "cited page; the CSV file lists them with the digest of the cited file"
    )
    body: list[tuple[Cell, ...]] = []
    for row in rows.iter_rows(named=True):
        verdict = row["verdict"]
        symbol = VERDICT_SYMBOLS.get(verdict, VERDICT_SYMBOLS["not testable here"])
        numbers = [row[name] for name in ("estimate", "low", "high")]
        interval = "–" if None in numbers else nonbreaking(format_interval(*numbers))
        texts = (row["citing"], row["spec"], row["says"] or row["claim"], nonbreaking(f"{symbol} {verdict}"))
        seeds = "–" if row["n"] is None else str(row["n"])
        body.append((*((text, False) for text in texts), (interval, True), (seeds, True)))
    table = Table(rows.select(*_HEADINGS), _HEADINGS, subject, Grid("", _COLUMNS, tuple(body)))
    return Section(finding, tables=(table,))
