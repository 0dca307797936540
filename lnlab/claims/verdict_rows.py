"""Verdicts as rows of the table ``verdicts``, and back. Needs no scipy, so that stored verdicts print at once."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

import polars as pl
from pydantic import TypeAdapter, ValidationError

from lnlab.claims.claim import Verdict
from lnlab.tables import frame


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
    """The verdict of a row.

    Raises:
        ValueError: a column is absent, or holds what no verdict has there.
    """
    stored = {field.name: row[field.name] for field in fields(Verdict) if field.name in row}
    try:
        nested = {name: json.loads(stored[name]) for name in ("seeds", "elsewhere") if name in stored}
        verdict = _VERDICT.validate_python(stored | nested)
    except ValidationError as error:
        path = ".".join(str(part) for part in error.errors()[0]["loc"])
        raise ValueError(f"{path} is not what a verdict has there") from error
    if not (0 < verdict.level < 1 and 0 < verdict.bound < 1 and verdict.look >= 1):
        raise ValueError("level, bound or look is not what a verdict has there")
    return verdict


def verdicts_from_frame(table: pl.DataFrame) -> Sequence[Verdict]:
    """The verdicts of a table ``verdicts``.

    Raises:
        ValueError: as in ``verdict_from_row``.
    """
    return [verdict_from_row(row) for row in table.iter_rows(named=True)]


_VERDICT = TypeAdapter(Verdict)
