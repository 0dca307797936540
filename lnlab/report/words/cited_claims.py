"""Where claims of other experiments stand: addresses on their pages, and the arrows of a graph that cite them."""

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

from lnlab.claims.claim import Verdict
from lnlab.tables import Results

_LEAST_SUPPORTIVE = ("contradicted", "beyond", "smaller", "not testable here", "ill-posed", "undecided", "supported")


def cited_address(row: dict[str, Any], root: str | None) -> str:
    """The address of the claim that a row of ``evidence`` cites, on its page. Empty without a report or ``root``.

    Args:
        row: of the table.
        root: path from the page to the folder of all reports. None means that the page links to no other page.
    """
    if row["number"] is None or root is None:
        return ""
    return f"{root}/{quote(row['spec'])}/{quote(row['profile'])}/index.html#claim-{row['number']}"


def claim_address(verdict: Verdict, number: int, results: Results, root: str | None) -> str:
    """Where the evidence for a claim stands: on the page of another experiment if it is cited, else on its own.

    If the claim cites several, the address is that of the one that decided.

    Args:
        verdict: of the claim.
        number: of the claim on its own page, from 1.
        results: with the verdicts that were read from other reports.
        root: as in ``cited_address``.
    """
    rows = results.evidence.filter(citing=verdict.claim).to_dicts() if verdict.kind == "cited" else []
    readable = [row for row in rows if cited_address(row, root)]
    readable.sort(key=lambda row: _LEAST_SUPPORTIVE.index(row["verdict"]))
    return cited_address(readable[0], root) if readable else f"#claim-{number}"


def cited_by_arrows(sections: Iterable[Mapping[str, Any]], verdicts: Iterable[Verdict]) -> frozenset[str]:
    """The claims for which an arrow of a causal graph cites other experiments, if they stand in its section.

    The graph shows them. They are judged, listed and counted on other pages, and therefore not again on its own.

    Args:
        sections: of the report, resolved, with their claims.
        verdicts: of all claims.
    """
    drawn = {
        claim
        for section in sections
        if section.get("kind") == "causal_graph"
        for edge in section["edges"]
        for claim in (edge["observed"], edge["cut"])
        if claim in section.get("claims", ())
    }
    return frozenset(v.claim for v in verdicts if v.kind == "cited" and v.claim in drawn)
