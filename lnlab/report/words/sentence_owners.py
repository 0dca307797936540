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
_NAMED, _PAPERS, _OWN = "named", "papers", "own"


@dataclass(frozen=True)
class Sentence:
    """A judged claim: whose role it has, what its spec and it itself say of their source, and its verdict."""

    role: Role
    name: str
    source: str
    verdict: str


def sentences_of(facts: ReportFacts, verdicts: Iterable[Verdict]) -> tuple[Sentence, ...]:
    """The claims of a report as sentences of somebody."""
    name = facts.source.get("name", "")
    return tuple(Sentence(v.role, name, facts.sources.get(v.claim, ""), v.verdict) for v in verdicts)


def tally_by_owner(sentences: Sequence[Sentence]) -> list[tuple[str, list[tuple[str, int]]]]:
    """How many sentences of each owner got each verdict, the named sources first. Owners without any are left out."""
    names = sorted({sentence.name for sentence in sentences if sentence.name})
    counts: dict[str, Counter[str]] = {owner: Counter() for owner in (_NAMED, _PAPERS, _OWN)}
    for sentence in sentences:
        cites_paper = _PAPER.search(sentence.source)
        if sentence.role != "source":
            owner = _PAPERS if sentence.role == "alternative" and cites_paper else _OWN
        elif any(re.search(rf"\b{re.escape(name)}\b", sentence.source, re.IGNORECASE) for name in names):
            owner = _NAMED
        else:  # without a source of its own it is the sentence of the named source, if the spec names one
            owner = _NAMED if sentence.name and not cites_paper else _PAPERS
        counts[owner][sentence.verdict] += 1
    number = _NUMBER_WORDS[len(names)] if len(names) < len(_NUMBER_WORDS) else str(len(names))
    named = f"the {names[0]}" if len(names) == 1 else f"the {number} sources ({join_words(names)})"
    labels = {_NAMED: named, _PAPERS: "other papers" if names else "the papers cited", _OWN: "our own"}
    return [
        (labels[owner], [(word, counted[word]) for word in VERDICT_CLASSES if counted[word]])
        for owner, counted in counts.items()
        if counted
    ]
