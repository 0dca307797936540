"""``lnlab results``: the numbers of a spec, of recorded runs or of a report, as one file for other tools."""

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING

from lnlab.app.request import Request, open_store
from lnlab.app.stored_plans import stored_plan
from lnlab.app.table_specs import states_results, table_spec
from lnlab.errors import LabError
from lnlab.files import replacing
from lnlab.issues import Issue
from lnlab.printable import FORMULA_STARTS, shown_path

if TYPE_CHECKING:
    import polars as pl

    from lnlab.outside.own_model.measured import Measurements
    from lnlab.tables import Results

WRITTEN_FORMATS = (".parquet", ".csv", ".json")
METADATA_KEY = "lnlab"
"""The key of the Parquet metadata below which the columns are described, as JSON."""
NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
"""A cell that begins so and is harmless."""
StoredWords = Mapping[str, Mapping[str, str]]


def recorded_measurements(path: Path) -> "Measurements | None":
    """The measurements of a path that is no computed spec, or None where it is one.

    Such a path is a spec whose results are a table from elsewhere, the folder of a report (with the rows that its page
    uses), the folder of a recorded run, or a folder of recorded runs.

    Raises:
        LabError: it cannot be read.
    """
    if path.is_dir():
        from lnlab.outside.foreign_runs.folder import RUN_FILE
        from lnlab.report.contents import is_report

        if is_report(path):
            from lnlab.app.spec_runs import ReportedRuns
            from lnlab.report.folder import read_folder

            return ReportedRuns(path, *read_folder(path)).measurements()
        from lnlab.outside.own_model.opening import open_runs

        # A text is a pattern: a star or a bracket in the name of the folder is meant as it is.
        inner = [path] if (path / RUN_FILE).is_file() else f"{escape(os.fspath(path))}/*"
        return open_runs(inner)
    if states_results(path):
        spec = table_spec(path)
        return replace(spec.measurements, origin=spec)
    return None


def results_of(request: Request, store: Path | None) -> "tuple[Results, StoredWords]":
    """The results that a path names, and the words of its quantities. Nothing is computed.

    Raises:
        LabError: the spec was never run in this store, or what the path names cannot be read.
    """
    found = recorded_measurements(request.spec)
    if found is not None:
        for option, given in (("--profile", request.profile), ("-s", request.overrides)):
            if given:
                what = "only a spec that is computed has profiles and values to override"
                raise LabError(Issue("no-effect", f"{shown_path(request.spec)}: {option}", what, "leave it out"))
        return found.results, getattr(getattr(found.origin, "facts", None), "words", {})
    opened = open_store(store, request.spec)
    stored = stored_plan(opened, request)
    return opened.results(stored.digest), ((stored.facts or {}).get("report") or {}).get("words") or {}


def refuse_ending(path: Path) -> None:
    """Refuse a file whose ending names no format, or that cannot be written at this place.

    Raises:
        LabError: the ending names no format, the path is a folder, or its folder does not exist.
    """
    if path.suffix.lower() not in WRITTEN_FORMATS:
        remedy = f"end its name in {', '.join(WRITTEN_FORMATS[:-1])} or {WRITTEN_FORMATS[-1]}"
        raise LabError(Issue("wrong-value", shown_path(path), "the format of this file is not clear", remedy))
    if path.is_dir():
        raise LabError(Issue("wrong-value", shown_path(path), "is a folder", "name a file in it"))
    if not path.parent.is_dir():
        raise LabError(Issue("not-found", shown_path(path.parent), "there is no such folder", "make it first"))


def write_table(rows: "pl.LazyFrame", described: "Mapping[str, object]", path: Path) -> list[str]:
    """Write tidy rows in the format of the file's ending. Returns what was changed on the way, in sentences.

    Parquet holds every number to the last bit and, below the key ``lnlab``, what each column is. In CSV, a text that a
    spreadsheet would run begins with an apostrophe. JSON is a list of objects, with null for numbers that are not
    finite.

    Raises:
        LabError: as ``refuse_ending``.
        OSError: the file cannot be written. The old file is then kept.
    """
    import polars as pl
    from polars import selectors

    refuse_ending(path)
    schema = rows.collect_schema()
    if path.suffix.lower() == ".parquet":
        metadata = {METADATA_KEY: json.dumps({"columns": described}, ensure_ascii=False)}
        with replacing(path) as file:
            rows.sink_parquet(file, metadata=metadata)
        return []
    if path.suffix.lower() == ".json":
        lost = 0
        if any(kind.is_float() for kind in schema.values()):
            finite = pl.all_horizontal(selectors.float().is_finite().fill_null(value=True))
            lost = rows.select((~finite).sum()).collect(engine="streaming").item()
        with replacing(path) as file:
            file.write(rows.collect().write_json().encode())
        return [f"{lost:,} rows have a number that is not finite, and null in its place"] if lost else []
    texts = [name for name, kind in schema.items() if kind == pl.String]
    runs = {
        name: pl.col(name).str.slice(0, 1).is_in(FORMULA_STARTS) & ~pl.col(name).str.contains(NUMBER) for name in texts
    }
    escaped = rows.with_columns(
        pl.when(condition).then(pl.concat_str(pl.lit("'"), pl.col(name))).otherwise(pl.col(name)).alias(name)
        for name, condition in runs.items()
    )
    counts = rows.select(condition.sum().alias(name) for name, condition in runs.items())
    cells = sum(counts.collect(engine="streaming").row(0)) if runs else 0
    headings = {name: f"'{name}" for name in schema if name.startswith(FORMULA_STARTS)}
    with replacing(path) as file:
        escaped.rename(headings).sink_csv(file)
    changed = cells + len(headings)
    what = "begin with '=', '+', '-', '@' or a tab, and have an apostrophe before it, so that no spreadsheet runs them"
    return [f"{changed:,} cells {what}"] if changed else []
