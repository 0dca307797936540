"""The digest under which a verdict is stored: of the claim, and of every row and outcome that it reads.

Quick and without scipy, so that a rerun can tell that nothing changed before it judges anything.
"""

from contextlib import suppress

import polars as pl

from lnlab.claims.claim import Claim
from lnlab.claims.claim_scope import results_of_claim, selections_of_claim
from lnlab.claims.fairness.elsewhere import other_settings
from lnlab.errors import LabError
from lnlab.keys import Json, digest
from lnlab.row_digests import digest_of_rows
from lnlab.select.select import Selected
from lnlab.select.selection import Conditions
from lnlab.tables import Results

_SITE = ("stack", "layer", "sublayer", "tensor", "index", "operator", "scope")
_COLUMNS = ("variant", "seed", "step", "split", "statistics", "rule", "quantity", *_SITE, "value")


def rows_digest(claim: Claim, results: Results) -> str:
    """The digest of a claim, its rows and how their runs ended, at other settings too. The order of rows is no matter.

    For a claim that cites other reports it covers what they say, too.

    Raises:
        LabError: a key of its selections is unknown.
    """
    results = results_of_claim(claim, results)
    statements = [claim, *(claim.get("requires") or ())]
    parts: list[Json] = []
    for other in other_settings(claim, results):  # what the same test says there is part of the verdict
        with suppress(LabError):
            parts += [
                _parts(results, selection, other.claim.get("over")) for selection in selections_of_claim(other.claim)
            ]
    for statement in statements:
        for selection in selections_of_claim(statement):
            parts.append(_parts(results, selection, statement.get("over")))
    evidence = results.evidence.filter(pl.col("citing") == claim["id"])
    return digest([dict(claim), *parts, *([] if evidence.is_empty() else [digest_of_rows(evidence)])])


def _parts(results: Results, selection: Conditions, over: str | None) -> Json:
    """The digests of the rows of a selection, and of how their runs ended."""
    rows, runs = Selected(results, selection).rows, Selected(results, selection, over).runs
    outcomes = [c for c in ("variant", "seed", "status", "reason", "steps", "done") if c in runs.columns]
    # A column that a table gained later and that has no number here leaves stored digests as they were.
    columns = [c for c in _COLUMNS if c in rows.columns]
    columns += ["x"] if "x" in rows.columns and rows["x"].count() else []
    return [digest_of_rows(rows.select(columns)), digest_of_rows(runs.select(outcomes))]
