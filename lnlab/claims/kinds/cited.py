"""Verdicts of other experiments: a sentence that holds if all the claims that it cites were supported.

    contradicted: a cited claim is contradicted
    beyond: else one is beyond a margin of ours
    smaller: else one is smaller
    not testable here: else one has no verdict to read, or none that was testable
    undecided: else one is undecided
    supported: every cited claim is supported

The table ``evidence`` holds what was read, and from which file.
"""

from collections.abc import Sequence
from typing import Annotated

import polars as pl
from pydantic import Field

from lnlab.claims.claim import Finding, VerdictLabel, claims
from lnlab.claims.region import number_text
from lnlab.tables import Results

Evidence = Annotated[dict[str, Annotated[list[str], Field(min_length=1)]], Field(min_length=1)]
CITED_STATISTIC = "verdicts of other experiments"
_UNTESTED = (None, "not testable here", "ill-posed")


@claims.register("cited", reads="reports", about=(), law=False, margin=False)
def cited(results: Results, *, evidence: Evidence, profile: str = "real") -> Finding:
    """``all supported``: claims of other experiments, by the verdicts in their reports (Berger, 1982).

    ``evidence`` names claims by their spec, as in ``{residual_variance: [grows_exponentially]}``. Read are the
    reports of one ``profile``, in ``reports/<spec>/<profile>/data``.
    """
    verdicts: list[str | None] = []
    sentences = []
    for spec, claim in [(spec, claim) for spec, names in evidence.items() for claim in names]:
        of_claim = pl.col("spec").eq(spec) & pl.col("profile").eq(profile) & pl.col("claim").eq(claim)
        # A report that was not there is recorded with a reason; what was never looked for has no row at all.
        row, *_ = results.evidence.filter(of_claim).to_dicts() or [{"verdict": None, "reason": "was not read"}]
        verdicts.append(row["verdict"])
        if row["verdict"] is None:
            sentences.append(f"{spec}, {claim}: missing, as {row['reason']}")
        elif None in (numbers := [row["estimate"], row["low"], row["high"]]):
            sentences.append(f"{spec}, {claim}: {row['verdict']}")
        else:
            estimate, low, high = map(number_text, numbers)
            sentences.append(f"{spec}, {claim}: {row['verdict']}, {row['statistic']} {estimate} [{low}, {high}]")
    return Finding(joint_verdict(verdicts), CITED_STATISTIC, "; ".join(sentences))


def joint_verdict(verdicts: Sequence[str | None]) -> VerdictLabel:
    """The verdict of a sentence that holds if several claims do. None stands for a verdict that cannot be read."""
    if "contradicted" in verdicts:
        return "contradicted"
    if "beyond" in verdicts:
        return "beyond"
    if "smaller" in verdicts:
        return "smaller"
    if any(verdict in _UNTESTED for verdict in verdicts):
        return "not testable here"
    return "undecided" if "undecided" in verdicts else "supported"
