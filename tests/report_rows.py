"""A report whose rows were changed behind its back, for tests of what notices it."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl

from lnlab.report.folder import data_files, read_folder, write_files
from lnlab.store.kept import results_as_files
from lnlab.tables import Results


def change_results(folder: Path, change: Callable[[Results], Results]) -> None:
    """Put other results into a report, as one that was written with them has them."""
    facts, results, verdicts = read_folder(folder)
    (plan,) = folder.glob("data/plans/*/plan.json")
    claims = json.loads(plan.read_text())["content"]["facts"]["claims"]
    changed = change(results)
    write_files(folder, data_files(facts, changed, verdicts, claims, results_as_files(changed)), ("data",))


def change_rows(folder: Path, change: Callable[[pl.DataFrame], pl.DataFrame], table: str = "sites") -> None:
    """Change one of the tables of a report."""
    change_results(folder, lambda whole: replace(whole, tables={**whole.tables, table: change(whole.tables[table])}))


def packed(folder: Path, table: str) -> Path:
    """The file of a report with the rows of a table."""
    (path,) = folder.glob(f"data/packs/*/{table}.parquet")
    return path
