"""The folder of tables that a report is a function of: ``data/*.parquet`` and ``data/experiment.json``.

Only the rows that the page uses are kept, and nothing that differs between two equal runs (seconds, time of day).
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from lnlab.claims.claim import Claim, Verdict
from lnlab.claims.verdict_rows import verdict_frame, verdicts_from_frame
from lnlab.errors import Problem, ReportError
from lnlab.files import replacing
from lnlab.report.committed.judge_again import verdict_follows
from lnlab.report.compose import build_parts, rows_used
from lnlab.report.facts import ReportFacts, facts_from_json, facts_text
from lnlab.report.held_rows import record_kept_rows
from lnlab.report.table import parquet_bytes
from lnlab.tables import JUDGED, TABLES, WRITTEN_BY_WORKERS, Results, table_schema

EVIDENCE_TABLE = "evidence"
_UNSTABLE_COLUMNS = ("seconds",)
_RUN_COLUMNS = {"run": pl.String, "variant": pl.String, "seed": pl.Int64, "step": pl.Int64}


def write_folder(
    out: Path, facts: ReportFacts, results: Results, verdicts: Sequence[Verdict], claims: Sequence[Claim] = ()
) -> list[Path]:
    """Write ``out/data`` with the rows that the sections and these claims read. What no longer belongs there goes.

    What is written down of the rows leaves out claims whose verdict does not follow from them, such as one of all
    quantities at once.

    Raises:
        ReportError: the folder cannot be written.
    """
    tables = rows_used(build_parts(facts, results, verdicts), claims, results)
    reduced = replace(results, tables=tables)
    reproducible = [
        claim
        for claim, verdict in zip(claims, verdicts, strict=False)
        if verdict_follows(claim, reduced, verdict, verdicts)
    ]
    complete_facts = replace(facts, kept=record_kept_rows(reproducible, facts.sections, facts.seeds))
    return save_folder(out, complete_facts, replace(reduced, runs=stable_runs(results.runs)), verdicts)


def stable_runs(runs: pl.DataFrame) -> pl.DataFrame:
    """The runs without what differs between two equal ones."""
    return runs.with_columns(pl.lit(None, runs.schema[name]).alias(name) for name in _UNSTABLE_COLUMNS)


def save_folder(out: Path, facts: ReportFacts, results: Results, verdicts: Sequence[Verdict]) -> list[Path]:
    """Write all of this into ``out/data``; a table that is there with equal content stays as it is.

    Raises:
        ReportError: the folder cannot be written.
    """
    tables = {"runs": results.runs, "axes": results.axes, "verdicts": verdict_frame(verdicts)}
    optional = {**results.tables, EVIDENCE_TABLE: results.evidence}
    tables |= {name: table for name, table in optional.items() if not table.is_empty()}
    files = {f"data/{name}.parquet": _content(out, name, table) for name, table in sorted(tables.items())}
    return write_files(out, files | {"data/experiment.json": facts_text(facts).encode()}, ("data",))


def _content(out: Path, name: str, table: pl.DataFrame) -> bytes:
    """A table as bytes: those of the file that is there, if it holds the same and is no larger than a new one."""
    path = out / "data" / f"{name}.parquet"
    new_content = parquet_bytes(table)
    with suppress(OSError, pl.exceptions.PolarsError):
        content = path.read_bytes()
        if len(content) <= len(new_content) and pl.read_parquet(content).equals(table):
            return content
    return new_content


def read_folder(out: Path) -> tuple[ReportFacts, Results, list[Verdict]]:
    """Everything a report is made of, from its folder alone.

    Raises:
        ReportError: the folder is not that of a report, or a file in it is damaged.
    """
    path = out / "data" / "experiment.json"
    try:
        facts = facts_from_json(json.loads(path.read_text(encoding="utf-8")), str(path))
    except (OSError, ValueError) as error:
        raise ReportError(Problem(str(path), f"cannot be read: {error}", "write the report again")) from error
    tables = {name: _read(out / "data" / f"{name}.parquet", joined_schema(name)) for name in WRITTEN_BY_WORKERS}
    runs = _read(out / "data" / "runs.parquet", None)
    axes = _read(out / "data" / "axes.parquet", table_schema("axes"))
    verdicts = _read(out / "data" / "verdicts.parquet", table_schema("verdicts"))
    evidence = _read(out / "data" / f"{EVIDENCE_TABLE}.parquet", table_schema(EVIDENCE_TABLE))
    return facts, Results(runs, axes, tables, evidence), list(verdicts_from_frame(verdicts))


def joined_schema(name: str) -> pl.Schema:
    """The columns of a worker's table once it is joined to its runs."""
    columns: dict[str, Any] = _RUN_COLUMNS | table_schema(name)
    return pl.Schema(columns)


def _read(path: Path, empty_schema: pl.Schema | None) -> pl.DataFrame:
    if empty_schema is not None and not path.exists():
        return pl.DataFrame(schema=empty_schema)
    try:
        return pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise ReportError(Problem(str(path), f"cannot be read: {error}", "write the report again")) from error


def write_files(out: Path, files: Mapping[str, bytes], folders: Sequence[str]) -> list[Path]:
    """Write each file by rename; of ``folders``, drop files that a report writes and this one did not.

    Raises:
        ReportError: a file cannot be written.
    """
    try:
        for name, content in files.items():
            _replace(out / name, content)
        for folder in folders:
            for old in sorted((out / folder).iterdir()) if (out / folder).is_dir() else ():
                if f"{folder}/{old.name}" not in files and old.name.startswith((*TABLES, *JUDGED, "figure-", "table-")):
                    old.unlink()
    except OSError as error:
        raise ReportError(
            Problem(str(out), f"cannot be written: {error}", "choose another folder with --out")
        ) from error
    return [out / name for name in files]


def _replace(path: Path, content: bytes) -> None:
    if path.exists() and path.read_bytes() == content:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        file.write(content)
