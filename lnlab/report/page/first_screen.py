"""What the first screen of a page says beside its answer: the setting, what stays open, and what its words mean."""

import re
from collections.abc import Sequence

from lnlab.claims.claim import Verdict
from lnlab.report.facts import ReportFacts
from lnlab.report.loss_units import fill_units
from lnlab.report.page.citation_links import linked_citations
from lnlab.report.page.claim_list import ClaimRow
from lnlab.report.words.quantity_words import quantity_words
from lnlab.report.words.wording import count_noun

MOST_OPEN = 3
"""Open claims that the first screen names. The list below it has all of them."""
_DEPTHS = re.compile(r"^\d+-\d+(?:, \d+-\d+| \.\.\. \d+-\d+)*(?=,|$)")


def scope_in_words(scope: str) -> str:
    """``6-6, d_model 128, at init`` as a reader says it: ``6-6 layers, d_model 128, at initialization``."""
    depths = _DEPTHS.match(scope)
    if depths:
        scope = f"{depths[0]} layers{scope[depths.end() :]}"
    return re.sub(r"\bat init\b", "at initialization", scope)


def not_shown(facts: ReportFacts, rows: Sequence[ClaimRow]) -> list[list[tuple[str, str | None]]]:
    """What the page leaves open: the first difference from the source, which is that of scale, and undecided claims.

    Returns:
        sentences in pieces, each piece with the address that it leads to or None.
    """
    sentences: list[list[tuple[str, str | None]]] = []
    for first in facts.differs[:1]:
        if isinstance(first, str):
            sentences.append(linked_citations(first))
        else:
            source = f"; in the source: {first['source']}" if first.get("source") else ""
            sentences.append(linked_citations(f"{first['what']}: {first['ours']}{source}".rstrip(".") + "."))
    undecided = sorted(
        (row for row in rows if row.verdict.verdict == "undecided"),
        key=lambda row: (not row.verdict.primary, row.number),
    )
    for row in undecided[:MOST_OPEN]:
        sentences.append([("Undecided: ", None), (row.verdict.says, f"#claim-{row.number}")])
    if more := len(undecided) - MOST_OPEN if len(undecided) > MOST_OPEN else 0:
        sentences.append([(f"{count_noun(more, 'more claim')} undecided.", "#verdicts")])
    if untested := sum(row.verdict.verdict == "not testable here" for row in rows):
        sentences.append([(f"{count_noun(untested, 'claim')} not testable here.", "#verdicts")])
    return sentences


def quantity_definitions(verdicts: Sequence[Verdict]) -> list[tuple[str, str, str]]:
    """Each quantity that a claim is about and that has a definition: its identifier, its name and what it is."""
    told = []
    for quantity in dict.fromkeys(verdict.quantity for verdict in verdicts if verdict.quantity):
        words = quantity_words(quantity)
        if words is not None and words.definition:
            symbol = words.symbol.replace("{W}", "W")
            parts = (symbol, fill_units(words.definition), fill_units(words.unit))
            told.append((quantity, words.name, ", ".join(filter(None, parts))))
    return told
