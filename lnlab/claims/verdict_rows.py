"""Verdicts as rows of the table ``verdicts``, and back. Needs no scipy, so that stored verdicts print at once."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, asdict, fields
from typing import Any

import polars as pl

from lnlab.claims.claim import Verdict
from lnlab.tables import frame

_REGION = re.compile(r"\blies (in|outside) the region\b")
_TODAY = {"in": "within", "outside": "outside"}


def verdict_row(verdict: Verdict, rows: str | None = None) -> dict[str, Any]:
    """The row of a verdict, with its seeds and its counts elsewhere as JSON in order.

    ``rows`` is the digest of what it was judged on.
    """
    seeds = json.dumps({str(seed): verdict.seeds[seed] for seed in sorted(verdict.seeds)})
    elsewhere = json.dumps(dict(sorted(verdict.elsewhere.items())))
    return asdict(verdict) | {"seeds": seeds, "elsewhere": elsewhere, "rows": rows}


def verdict_frame(verdicts: Iterable[Verdict]) -> pl.DataFrame:
    """Verdicts as the table ``verdicts``."""
    return frame("verdicts", [verdict_row(verdict) for verdict in verdicts])


def verdict_from_row(row: Mapping[str, Any]) -> Verdict:
    """The verdict of a row. Reasons of before speak of a region where those of today speak of the accepted range."""
    seeds = {int(seed): number for seed, number in json.loads(row["seeds"]).items()}
    optional = (f.name for f in fields(Verdict) if (f.default, f.default_factory) != (MISSING, MISSING))
    absent = {name for name in optional if row.get(name) is None}
    stored = {field.name: row[field.name] for field in fields(Verdict) if field.name not in absent}
    reason = _REGION.sub(lambda match: f"lies {_TODAY[match[1]]} the accepted range", stored["reason"])
    if "elsewhere" in stored:
        stored["elsewhere"] = {path: tuple(counts) for path, counts in json.loads(stored["elsewhere"]).items()}
    return Verdict(**{**stored, "reason": reason, "seeds": seeds})  # earlier reports lack fields that have a default


def verdicts_from_frame(table: pl.DataFrame) -> Sequence[Verdict]:
    """The verdicts of a table ``verdicts``. Tables of early versions have a badge in place of a role."""
    if "badge" in table.columns:
        role = pl.when(pl.col("badge") == "regression").then(pl.lit("prediction")).otherwise(pl.lit("source"))
        table = table.with_columns(role=role)
    return [verdict_from_row(row) for row in table.iter_rows(named=True)]
