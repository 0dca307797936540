"""Every claim as one line of the page, grouped by whose sentence it is: the source's, another's, the author's."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from lnlab.claims.claim import Verdict
from lnlab.claims.verdict_text import law_text, level_text, verdict_label
from lnlab.report.facts import ReportFacts
from lnlab.report.page.citation_links import cited_papers, linked_citations
from lnlab.report.page.verdict_strip import VerdictStrip, verdict_strip
from lnlab.report.words.answer_text import estimate_in_words
from lnlab.report.words.cited_claims import cited_address
from lnlab.report.words.look_words import changed_criterion, frozen_criterion, look_lines
from lnlab.report.words.verdict_words import common_scope, criterion_text
from lnlab.report.words.wording import format_interval, format_value, nonbreaking
from lnlab.seed_words import counted_seeds
from lnlab.specfile.experiment import Role
from lnlab.tables import Results

_ROLE_HEADINGS: Mapping[Role, str] = {
    "source": "Claims of the source",
    "alternative": "Competing readings",
    "prediction": "Our predictions",
    "control": "Controls",
}
_ROLE_MEANINGS: Mapping[Role, str] = {
    "source": "claims of the source state what the cited source says",
    "alternative": "competing readings come from other sources",
    "prediction": "our predictions and their margins are our own",
    "control": "controls must hold for the others to mean anything",
}


@dataclass(frozen=True)
class CitedClaim:
    """A claim of another experiment that one cites.

    Attributes:
        spec: the other experiment.
        says: the claim as a sentence, or its id if there is none.
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
        estimate: with its interval and its noun, or a dash.
        dots: its drawing, or None without numbers.
        because: the author's explanation of this verdict, or nothing.
        label: the verdict in words, with what it says beyond its word.
        law: what the interval says of the value that the sentence names, or nothing.
        level: which look decided, and how much its interval covers. Empty for a single look at 95 %.
        looks: every look at the claim, in words.
        dated: how its criterion stands to its looks in time: where it is newer than one of them, or was frozen.
        criterion: what was accepted, whose margin that is, and how many seeds lie in it.
        aside: what decided, and the setting where it is not the common one.
        source: where the claim comes from, in pieces with their links.
        sections: number and title of each section that is about it.
        cited: the claims of other experiments that it was judged from.
        seeds: its number of each seed, in words.
        quantity: the anchor of its quantity among the definitions of the page, and its name. None without a definition.
        data: path from the page to the file with the rows of its quantity, or nothing.
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
    dated: str
    criterion: str
    aside: str
    source: tuple[tuple[str, str | None], ...]
    sections: tuple[tuple[int, str], ...]
    cited: tuple[CitedClaim, ...]
    seeds: str
    quantity: tuple[str, str] | None
    data: str


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
    """Explain the headings of a page's claims. Empty if it has only claims of its own."""
    headings = grouped_by_role(facts, verdicts)
    meanings = [_ROLE_MEANINGS[role] for role, heading in _ROLE_HEADINGS.items() if heading in headings]
    return " ".join(f"{meaning[0].upper()}{meaning[1:]}." for meaning in meanings)


def claim_groups(
    facts: ReportFacts,
    verdicts: Sequence[Verdict],
    sections: Mapping[str, Sequence[tuple[int, str]]],
    results: Results,
    root: str | None = None,
    definitions: Mapping[str, tuple[str, str]] | None = None,
) -> list[tuple[str, list[ClaimRow]]]:
    """The claims of each role that has any, under the heading of the role, each in the order of the spec.

    Args:
        facts: for sources and explanations.
        verdicts: in the order of the spec.
        sections: number and title of the sections about each claim, by id.
        results: the rows, and what was read from other reports.
        root: path from the page to the folder of all reports. None means that the page links to no other file.
        definitions: anchor and name of each quantity that the page defines.
    """
    scope = common_scope(verdicts)
    papers = cited_papers(facts.source.get("cite", ""))
    by_claim: dict[str, ClaimRow] = {}
    for number, verdict in enumerate(verdicts, 1):
        cited = tuple(
            CitedClaim(
                spec=row["spec"],
                says=row["says"] or row["claim"],
                verdict=row["verdict"] or "missing",
                estimate=nonbreaking(format_interval(row["estimate"], row["low"], row["high"]))
                if row["verdict"]
                else str(row["reason"]),
                address=cited_address(row, root),
            )
            for row in results.evidence.filter(citing=verdict.claim).iter_rows(named=True)
        )
        if verdict.verdict == "ill-posed":  # its reason begins with the name of a file
            aside = f"{verdict.reason}."
        else:
            sentences = (verdict.reason, "" if verdict.scope == scope else verdict.scope)
            aside = " ".join(f"{s[0].upper()}{s[1:].rstrip('.')}." for s in sentences if s)
        looks, frozen = facts.looks.get(verdict.claim, ()), facts.frozen.get(verdict.claim, {})
        by_claim[verdict.claim] = ClaimRow(
            number=number,
            verdict=verdict,
            estimate=estimate_with_noun(verdict),
            dots=verdict_strip(verdict),
            because=facts.because.get(verdict.claim, {}).get(verdict.verdict, ""),
            label=verdict_label(verdict),
            law=law_text(verdict),
            level=level_text(verdict),
            looks=look_lines(looks),
            dated=" ".join(filter(None, (changed_criterion(looks, verdict), frozen_criterion(frozen, looks)))),
            criterion=criterion_text(verdict),
            aside=aside,
            source=tuple(linked_citations(facts.sources.get(verdict.claim, ""), papers)),
            sections=tuple(sections.get(verdict.claim, ())),
            cited=cited,
            seeds=seed_values(verdict),
            quantity=(definitions or {}).get(verdict.quantity or ""),
            data="" if root is None or not verdict.seeds else "data/verdicts.parquet",
        )
    groups = grouped_by_role(facts, verdicts)
    return [(heading, [by_claim[verdict.claim] for verdict in group]) for heading, group in groups.items()]


def estimate_with_noun(verdict: Verdict) -> str:
    """``× 7.0 [5.5, 9.0]``, ``exponent −0.46 [−0.50, −0.42]``, ``0 of 6 seeds``: the estimate and what it is."""
    text = estimate_in_words(verdict)
    if verdict.estimate is None:
        return text
    if verdict.measure == "share":
        return nonbreaking(f"{verdict.inside} of {counted_seeds(verdict.n)}")
    nouns = {"ratio": f"×\u00a0{text}", "exponent": f"exponent {text}", "steps": f"{text} steps"}
    return nouns.get(verdict.measure or "", text)


def seed_values(verdict: Verdict) -> str:
    """``11: 2.13, 12: 1.6``: what a claim made of each seed, to three digits."""
    values = ((seed, float(f"{value:.3g}")) for seed, value in sorted(verdict.seeds.items()))
    return ", ".join(f"{seed}:\u00a0{format_value(value)}" for seed, value in values)
