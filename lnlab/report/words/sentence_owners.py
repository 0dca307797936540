"""Assign the claims of pages to the owners of their sentences, and count the verdicts of each owner.

A source that several questions share has a name in their specs: ``source: {cite: ..., name: tutorial}``. A claim of the
role ``source`` is that source's if its own ``source`` names it, or names no other paper. If not, it is another paper's.
A competing reading is another paper's if it names one. If not, it is ours, as predictions and controls are.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lnlab.claims.claim import Verdict
from lnlab.report.facts import ReportFacts
from lnlab.report.words.verdict_words import VERDICT_CLASSES
from lnlab.report.words.wording import join_words
from lnlab.specfile.experiment import Role

_PAPER = re.compile(r"\b(?:et al\.|[A-Z]\w+ (?:and [A-Z]\w+ )?)\s*\(?(?:19|20)\d\d\b")
_NUMBER_WORDS = ("no", "one", "two", "three", "four", "five", "six")
PAPERS = "papers"
"""The owner of a sentence of a paper that no spec gives a name."""


@dataclass(frozen=True)
class Sentence:
    """A judged claim: its role, what its spec and it itself say of their source, its verdict, and whose margin."""

    role: Role
    name: str
    source: str
    verdict: str
    margin: str = "source"


def sentences_of(facts: ReportFacts, verdicts: Iterable[Verdict]) -> tuple[Sentence, ...]:
    """The claims of a report as sentences of somebody."""
    name = facts.source.get("name", "")
    return tuple(
        Sentence(role=v.role, name=name, source=facts.sources.get(v.claim, ""), verdict=v.verdict, margin=v.margin)
        for v in verdicts
    )


def source_of(sentence: Sentence, names: Sequence[str]) -> str | None:
    """Whose sentence it is: one of the named sources, ``PAPERS`` for another paper, or None for our own."""
    cites_paper = _PAPER.search(sentence.source)
    if sentence.role != "source":
        return PAPERS if sentence.role == "alternative" and cites_paper else None
    for name in names:
        if re.search(rf"\b{re.escape(name)}\b", sentence.source, re.IGNORECASE):
            return name
    # without a source of its own it is the sentence of the named source, if the spec names one
    return sentence.name if sentence.name and not cites_paper else PAPERS


def tally_by_owner(sentences: Sequence[Sentence]) -> list[tuple[str, list[tuple[str, int]]]]:
    """How many sentences of each owner got each verdict, the named sources first. Owners without any are left out."""
    names = sorted({sentence.name for sentence in sentences if sentence.name})
    number = _NUMBER_WORDS[len(names)] if len(names) < len(_NUMBER_WORDS) else str(len(names))
    named = f"the {names[0]}" if len(names) == 1 else f"the {number} sources ({join_words(names)})"
    papers = "other papers" if names else "the papers cited"
    counts: dict[str, list[Sentence]] = {named: [], papers: [], "our own": []}
    for sentence in sentences:
        source = source_of(sentence, names)
        counts["our own" if source is None else papers if source == PAPERS else named].append(sentence)
    return [(owner, verdict_tally(theirs)) for owner, theirs in counts.items() if theirs]


def verdict_tally(sentences: Iterable[Sentence]) -> list[tuple[str, int]]:
    """How many of the sentences got each verdict, in the order of ``VERDICT_CLASSES``."""
    counted = Counter(sentence.verdict for sentence in sentences)
    return [(word, counted[word]) for word in VERDICT_CLASSES if counted[word]]
