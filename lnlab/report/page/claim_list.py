"""Every claim as one line of the page, grouped by whose sentence it is: the source's, another's, the author's."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from lnlab.claims.claim import Verdict
from lnlab.claims.verdict_text import law_text, level_text, verdict_label
from lnlab.report.facts import ReportFacts
from lnlab.report.page.citation_links import cited_papers, linked_citations
from lnlab.report.page.verdict_strip import VerdictStrip, verdict_strip
from lnlab.report.words.answer_text import estimate_in_words
from lnlab.report.words.cited_claims import cited_address
from lnlab.report.words.verdict_words import common_scope, criterion_text, look_lines
from lnlab.report.words.wording import format_interval, nonbreaking
from lnlab.specfile.experiment import Role

_ROLE_HEADINGS: Mapping[Role, str] = {
    "source": "Claims of the source",
    "alternative": "Competing readings",
    "prediction": "Our predictions",
    "control": "Controls",
}
_ROLE_MEANINGS: Mapping[Role, str] = {
    "source": "claims of the source are what the cited source says",
    "alternative": "competing readings come from other sources",
    "prediction": "our predictions have margins of our own",
    "control": "controls must hold for the others to mean anything",
}


@dataclass(frozen=True)
class CitedClaim:
    """A claim of another experiment that one cites.

    Attributes:
        spec: the other experiment.
        says: the claim as a sentence; its id where there is none to read.
        verdict: what was judged there, or ``missing``.
        estimate: with its interval, or why nothing could be read.
        address: of the claim on its page, or nothing.
    """

    spec: str
    says: str
    verdict: str
    estimate: str
    address: str


@dataclass(frozen=True)
class ClaimRow:
    """A verdict as the page lists it.

    Attributes:
        number: from 1, in the order of the spec, so that links to a claim outlive a change of its role.
        verdict: what was judged.
        estimate: with its interval, or a dash.
        dots: its drawing; None without numbers.
        because: the author's explanation of this verdict, or nothing.
        label: the verdict in words, with what it says beyond its word.
        law: what the interval says of the value that the sentence names, or nothing.
        level: which look decided, and how much its interval covers; nothing of a single look at 95 %.
        looks: every look at the claim, in words.
        criterion: what was accepted, whose margin that is, and how many seeds lie in it.
        aside: what decided, and the setting where it is not the common one.
        source: where the claim comes from, in pieces with their links.
        sections: number and title of each section that is about it.
        cited: the claims of other experiments that it was judged from.
    """

    number: int
    verdict: Verdict
    estimate: str
    dots: VerdictStrip | None
    because: str
    label: str
    law: str
    level: str
    looks: tuple[str, ...]
    criterion: str
    aside: str
    source: tuple[tuple[str, str | None], ...]
    sections: tuple[tuple[int, str], ...]
    cited: tuple[CitedClaim, ...]


def grouped_by_role(facts: ReportFacts, verdicts: Iterable[Verdict]) -> dict[str, list[Verdict]]:
    """The verdicts by the heading under which a page or a table lists them.

    A page without a source has no claims of one: all that is no control or competing reading stands under "Claims".
    """
    groups: dict[str, list[Verdict]] = {heading: [] for heading in ("Claims", *_ROLE_HEADINGS.values())}
    for verdict in verdicts:
        own = not facts.has_source and verdict.role in ("source", "prediction")
        groups["Claims" if own else _ROLE_HEADINGS[verdict.role]].append(verdict)
    return {heading: group for heading, group in groups.items() if group}


def roles_sentence(facts: ReportFacts, verdicts: Iterable[Verdict]) -> str:
    """What the headings of a page's claims mean, or nothing where it has only claims of its own."""
    headings = grouped_by_role(facts, verdicts)
    meanings = [_ROLE_MEANINGS[role] for role, heading in _ROLE_HEADINGS.items() if heading in headings]
    text = "; ".join(meanings)
    return f"{text[0].upper()}{text[1:]}." if text else ""


def claim_groups(
    facts: ReportFacts,
    verdicts: Sequence[Verdict],
    sections: Mapping[str, Sequence[tuple[int, str]]],
    evidence: pl.DataFrame,
    root: str | None = None,
) -> list[tuple[str, list[ClaimRow]]]:
    """The claims of each role that has any, under the heading of the role, each in the order of the spec.

    Args:
        facts: for sources and explanations.
        verdicts: in the order of the spec.
        sections: number and title of the sections about each claim, by id.
        evidence: the table of what was read from other reports.
        root: the path of the folder of all reports as the page names it; None: the page links to no other.
    """
    scope = common_scope(verdicts)
    papers = cited_papers(facts.source.get("cite", ""))
    cited = {verdict.claim: _cited_claims(evidence, verdict.claim, root) for verdict in verdicts}
    rows = [
        _row(n, v, facts, scope, papers=papers, sections=sections.get(v.claim, ()), cited=cited[v.claim])
        for n, v in enumerate(verdicts, 1)
    ]
    by_claim = {row.verdict.claim: row for row in rows}
    groups = grouped_by_role(facts, verdicts)
    return [(heading, [by_claim[verdict.claim] for verdict in group]) for heading, group in groups.items()]


def _cited_claims(evidence: pl.DataFrame, claim: str, root: str | None) -> tuple[CitedClaim, ...]:
    """The claims of other experiments that one cites, in order; each with the address of its page."""
    return tuple(
        CitedClaim(
            spec=row["spec"],
            says=row["says"] or row["claim"],
            verdict=row["verdict"] or "missing",
            estimate=_cited_estimate(row),
            address=cited_address(row, root),
        )
        for row in evidence.filter(citing=claim).iter_rows(named=True)
    )


def _cited_estimate(row: Mapping[str, Any]) -> str:
    """The estimate with its interval, or why the report of the claim could not be read."""
    if not row["verdict"]:
        return str(row["reason"])
    return nonbreaking(format_interval(row["estimate"], row["low"], row["high"]))


def _row(
    number: int,
    verdict: Verdict,
    facts: ReportFacts,
    common: str,
    *,
    papers: Mapping[str, str],
    sections: Sequence[tuple[int, str]],
    cited: tuple[CitedClaim, ...],
) -> ClaimRow:
    return ClaimRow(
        number=number,
        verdict=verdict,
        estimate=estimate_in_words(verdict),
        dots=verdict_strip(verdict),
        because=facts.because.get(verdict.claim, {}).get(verdict.verdict, ""),
        label=verdict_label(verdict),
        law=law_text(verdict),
        level=level_text(verdict),
        looks=look_lines(facts.looks.get(verdict.claim, ())),
        criterion=criterion_text(verdict),
        aside=_aside(verdict, common),
        source=tuple(linked_citations(facts.sources.get(verdict.claim, ""), papers)),
        sections=tuple(sections),
        cited=cited,
    )


def _aside(verdict: Verdict, common: str) -> str:
    """What decided, and where the claim holds if that is not said above the list."""
    if verdict.verdict == "ill-posed":  # its reason begins with the name of a file
        return f"{verdict.reason}."
    sentences = (verdict.reason, "" if verdict.scope == common else verdict.scope)
    return " ".join(f"{s[0].upper()}{s[1:].rstrip('.')}." for s in sentences if s)
