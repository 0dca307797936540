"""Verdicts of other experiments: a sentence that holds if all the claims that it cites were supported.

supported: every cited claim is; contradicted: one of them is; smaller: else one of them is; not testable here: one has
no verdict to read, or none that was testable; undecided: otherwise. What was read, and from which file, is in the table
``evidence``.
"""

from collections.abc import Sequence
from typing import Annotated, Any

import polars as pl
from pydantic import Field

from lnlab.claims.claim import Finding, VerdictLabel, claims
from lnlab.claims.region import number_text
from lnlab.tables import Results

Evidence = Annotated[dict[str, Annotated[list[str], Field(min_length=1)]], Field(min_length=1)]
CITED_STATISTIC = "verdicts of other experiments"
_UNTESTED = (None, "not testable here", "ill-posed")


@claims.register("cited", reads="reports", about=(), law=False)
def cited(results: Results, *, evidence: Evidence, profile: str = "real") -> Finding:
    """``all supported``: claims of other experiments, by the verdicts in their reports (Berger, 1982).

    ``evidence`` names claims by their spec, as in ``{residual_variance: [grows_exponentially]}``. Read are the
    reports of one ``profile``, in ``reports/<spec>/<profile>/data``.
    """
    pairs = [(spec, claim) for spec, names in evidence.items() for claim in names]
    rows = []
    for spec, claim in pairs:
        found = results.evidence.filter(
            pl.col("spec") == spec, pl.col("profile") == profile, pl.col("claim") == claim
        ).to_dicts()
        unread = {"spec": spec, "claim": claim, "verdict": None, "reason": "was not read"}
        rows.append(found[0] if found else unread)
    verdict = joint_verdict([row.get("verdict") for row in rows])
    return Finding(verdict, CITED_STATISTIC, "; ".join(map(_sentence, rows)))


def joint_verdict(verdicts: Sequence[str | None]) -> VerdictLabel:
    """The verdict of a sentence that holds if several claims do; None if one of them has no verdict to read."""
    if "contradicted" in verdicts:
        return "contradicted"
    if "smaller" in verdicts:
        return "smaller"
    if any(verdict in _UNTESTED for verdict in verdicts):
        return "not testable here"
    return "undecided" if "undecided" in verdicts else "supported"


def _sentence(row: dict[str, Any]) -> str:
    """``residual_variance, growth_rate: supported, growth 2.8 [2.76, 2.85]``."""
    name = f"{row['spec']}, {row['claim']}"
    if row["verdict"] is None:
        return f"{name}: missing, as {row['reason']}"
    numbers = [row["estimate"], row["low"], row["high"]]
    if None in numbers:
        return f"{name}: {row['verdict']}"
    estimate, low, high = map(number_text, numbers)
    return f"{name}: {row['verdict']}, {row['statistic']} {estimate} [{low}, {high}]"
