"""The folder of tables that a report is a function of: ``data/*.parquet`` and ``data/experiment.json``.

All rows of the quantities that the spec names are kept, see ``kept_rows``, and nothing that differs between two equal
runs (seconds, time of day).
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import polars as pl

from lnlab.claims.claim import Claim, Verdict
from lnlab.claims.verdict_rows import verdict_frame, verdicts_from_frame
from lnlab.errors import ReportError
from lnlab.folders import complete_interrupted, replace_folder
from lnlab.issues import Issue
from lnlab.keys import Json
from lnlab.report.compose import build_parts
from lnlab.report.contents import EXPERIMENT_FILE, LARGEST_FACTS, list_files, read_file
from lnlab.report.facts import COMMON_FIELDS, ReportFacts, facts_from_json, facts_text
from lnlab.report.kept_rows import (
    curves_beyond,
    entry_of_runs,
    has_long_curves,
    measured_names,
    quantities_of_claim,
    quantities_of_section,
    rows_of_further_seeds,
    rows_of_quantities,
    with_rows,
)
from lnlab.report.table import parquet_bytes
from lnlab.select.seeds import drawn_results
from lnlab.tables import JUDGED, TABLES, WRITTEN_BY_WORKERS, Results, table_schema
from lnlab.userfiles import parse_json

EVIDENCE_TABLE = "evidence"
NOTEBOOK_FILE = "notebook.ipynb"
THUMBNAIL_FILE = "figures/thumbnail.svg"
"""The first figure as the index shows it."""
_OWN_FOLDERS = ("data", "figures", "tables")
_WRITE_AGAIN = "write the report again"
_UNSTABLE_COLUMNS = ("seconds",)
KEY_DIGITS = 16
"""Hexadecimal digits of a key in a report: 64 bits. A store has all 64 digits, of which no compression saves one."""
_KEYS = ("run", "trajectory", "measurement")
_LONG_KEY = f"^([0-9a-f]{{{KEY_DIGITS}}})[0-9a-f]{{{64 - KEY_DIGITS}}}$"
_RUN_COLUMNS = {"run": pl.String, "variant": pl.String, "seed": pl.Int64, "step": pl.Int64}


def report_data(
    facts: ReportFacts,
    results: Results,
    verdicts: Sequence[Verdict],
    claims: Sequence[Claim] = (),
    before: Path | None = None,
) -> dict[str, bytes]:
    """The files ``data/*`` of a report, with all rows of the quantities that its sections and these claims name.

    Of curves of more than ``LONG_CURVE`` points that no claim is about, the rows that the sections draw are enough: a
    loss at every update of hundreds of runs would be most of a repository. ``before`` is as in ``data_files``.
    """
    of_sections = drawn_results(results, facts.seeds, facts.grid_seeds)
    further: list[Mapping[str, Json]] = []
    if of_sections is not results:
        results, further = rows_of_further_seeds(results, of_sections, claims)
    measured = measured_names(results)
    # The review of a page that is drawn again states its epochs, too.
    names = {name for claim in claims for name in quantities_of_claim(claim)} | ({"epoch"} & measured)
    drawn: list[Mapping[str, Json]] = []
    for section in facts.sections:
        named = quantities_of_section(section, measured)
        if has_long_curves(results, named - names):
            drawn.append(section)
        else:
            names |= named
    read = [
        (section, part.section.rows)
        for section in facts.sections
        for part in build_parts(replace(facts, sections=(section,)), results, verdicts)
        if part.section is not None
    ]
    # Short curves that a section draws beside those that it names, such as the entropy of the words beside a loss, are
    # kept whole as well: then it can select other runs.
    tables = rows_of_quantities(results, names)
    for section, rows in read:
        beside = set() if section in drawn else curves_beyond(tables, rows)
        names |= {name for name in beside if not has_long_curves(results, [name])}
    # what a section reads beyond the rows that are kept by name is kept by the section that reads it
    tables = whole = rows_of_quantities(results, names)
    for section, rows in read:
        with_section = with_rows(results, whole, rows)
        if section not in drawn and any(len(more) > len(whole[name]) for name, more in with_section.items()):
            drawn.append(section)
        tables = with_rows(results, tables, rows)
    entries: list[Mapping[str, Json]] = [{"quantity": name} for name in sorted(names)]
    entries += [{"section": {k: v for k, v in section.items() if k not in COMMON_FIELDS}} for section in drawn]
    if further:
        entries = [entry for entry in (entry_of_runs(of_sections.runs, entries), *further) if entry["runs"]]
    reduced = replace(results, runs=stable_runs(results.runs), tables=tables)
    return data_files(replace(facts, kept=tuple(entries)), reduced, verdicts, before)


def stable_runs(runs: pl.DataFrame) -> pl.DataFrame:
    """The runs without what differs between two equal ones."""
    return runs.with_columns(pl.lit(None, runs.schema[name]).alias(name) for name in _UNSTABLE_COLUMNS)


def with_short_keys(results: Results) -> Results:
    """The results with keys shortened to their first ``KEY_DIGITS`` digits, which still tell them apart.

    Keys of variants stay whole: the criterion of a look holds them, and there are few.
    """

    def shortened(rows: pl.DataFrame) -> pl.DataFrame:
        keys = [name for name in _KEYS if rows.schema.get(name) == pl.String]
        return rows.with_columns(pl.col(keys).str.replace(_LONG_KEY, "${1}"))

    tables = {name: shortened(rows) for name, rows in results.tables.items()}
    return replace(results, runs=shortened(results.runs), axes=shortened(results.axes), tables=tables)


def data_files(
    facts: ReportFacts, results: Results, verdicts: Sequence[Verdict], before: Path | None = None
) -> dict[str, bytes]:
    """The files ``data/*``. A file in the folder ``before`` stays if its table is equal and it is no larger."""
    results = with_short_keys(results)
    tables = {"runs": results.runs, "axes": results.axes, "verdicts": verdict_frame(verdicts)}
    optional = {**results.tables, EVIDENCE_TABLE: results.evidence}
    tables |= {name: table for name, table in optional.items() if not table.is_empty()}
    files = {}
    for name, table in sorted(tables.items()):
        path = f"data/{name}.parquet"
        files[path] = parquet_bytes(table)
        # a file that holds the same and is no larger stays, so that a newer polars changes no report
        with suppress(ReportError, pl.exceptions.PolarsError, pl.exceptions.PanicException):
            content = None if before is None else read_file(before, path, len(files[path]))
            if content is not None and pl.read_parquet(BytesIO(content)).equals(table):
                files[path] = content
    return files | {EXPERIMENT_FILE: facts_text(facts).encode()}


def save_folder(out: Path, facts: ReportFacts, results: Results, verdicts: Sequence[Verdict]) -> list[Path]:
    """Write ``data_files`` alone. Pages beside them stay as they are.

    Raises:
        ReportError: the folder cannot be written.
    """
    return write_files(out, data_files(facts, results, verdicts, out), ("data",))


def read_folder(out: Path) -> tuple[ReportFacts, Results, list[Verdict]]:
    """Everything a report is made of, from its folder alone.

    Raises:
        ReportError: the folder is not that of a report, or a file in it is damaged.
    """
    try:
        complete_interrupted(out, is_replaced)
    except OSError as error:
        what = f"was being replaced when lnlab was stopped, and cannot be completed: {error}"
        raise ReportError(Issue("unwritable", str(out), what, "make it writable")) from error
    return parse_report(partial(read_file, out), out)


def parse_report(read: Callable[[str], bytes | None], out: Path) -> tuple[ReportFacts, Results, list[Verdict]]:
    """Everything a report is made of, from its files.

    Args:
        read: returns a file by its path below the folder, or None if there is none.
        out: the folder, for messages.

    Raises:
        ReportError: a file is absent or damaged.
    """
    facts = facts_from_json(read_facts(out, read(EXPERIMENT_FILE)), str(out / EXPERIMENT_FILE))

    def table(name: str, empty_schema: pl.Schema | None) -> pl.DataFrame:
        content = read(f"data/{name}.parquet")
        if content is None:
            if empty_schema is not None:
                return pl.DataFrame(schema=empty_schema)
            raise ReportError(Issue("missing", str(out / f"data/{name}.parquet"), "is missing", _WRITE_AGAIN))
        try:
            rows = pl.read_parquet(BytesIO(content))
            # of the runs, the columns of the plan alone: those that a worker wrote stand beside them
            schema = table_schema(name) if empty_schema is None else empty_schema
            if wrong := [column for column, kind in schema.items() if rows.schema.get(column) != kind]:
                raise _damaged(out, name, ValueError(f"column {wrong[0]} is absent or of another type"))
            return rows
        except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            raise _damaged(out, name, error) from error

    tables = {name: table(name, joined_schema(name)) for name in WRITTEN_BY_WORKERS}
    runs = table("runs", None)
    axes = table("axes", table_schema("axes"))
    verdicts = table("verdicts", table_schema("verdicts"))
    evidence = table(EVIDENCE_TABLE, table_schema(EVIDENCE_TABLE))
    try:
        judged = list(verdicts_from_frame(verdicts))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, pl.exceptions.PolarsError) as error:
        raise _damaged(out, "verdicts", error) from error
    return facts, with_short_keys(Results(runs, axes, tables, evidence)), judged


def read_facts(out: Path, content: bytes | None) -> dict[str, Json]:
    """The object in ``experiment.json``.

    Raises:
        ReportError: the file is absent, or holds no JSON object.
    """
    where = str(out / EXPERIMENT_FILE)
    if content is None:
        raise ReportError(
            Issue("not-found", where, "cannot be read: there is no such file", "name the folder of a report")
        )
    if len(content) > LARGEST_FACTS:
        raise ReportError(Issue("too-large", where, f"has {len(content):,} bytes, more than any report", _WRITE_AGAIN))
    try:
        value = parse_json(content)
    except ValueError as error:
        raise ReportError(Issue("unreadable", where, f"cannot be read: {error}", _WRITE_AGAIN)) from error
    if not isinstance(value, dict):
        raise ReportError(Issue("unreadable", where, "cannot be read: it holds no JSON object", _WRITE_AGAIN))
    return value


def joined_schema(name: str) -> pl.Schema:
    """The columns of a worker's table once it is joined to its runs."""
    columns: dict[str, Any] = _RUN_COLUMNS | table_schema(name)
    return pl.Schema(columns)


def _damaged(out: Path, name: str, error: BaseException) -> ReportError:
    reason = next(iter(str(error).splitlines()), type(error).__name__)[:160]
    return ReportError(
        Issue("unreadable", str(out / f"data/{name}.parquet"), f"cannot be read: {reason}", _WRITE_AGAIN)
    )


def is_replaced(name: str) -> bool:
    """Whether the next report replaces a file of this name, below the folder, or drops it."""
    folder, _, file = name.partition("/")
    return name == NOTEBOOK_FILE or (
        folder in _OWN_FOLDERS and file.startswith((*TABLES, *JUDGED, "figure-", "table-"))
    )


def write_files(out: Path, files: Mapping[str, bytes], folders: Sequence[str]) -> list[Path]:
    """Put these files into a folder, all at once or none. Drop what an earlier report wrote into ``folders``.

    Raises:
        ReportError: the folder cannot be written, or leads elsewhere by a link. It is left unchanged.
    """
    # nothing that a report consists of may be a link or a device, so that it is written into its folder
    tops = {name.partition("/")[0] for name in files} | set(folders)
    for top in sorted(tops & {path.name for path in out.iterdir()} if out.is_dir() else ()):
        path = out / top
        inner = [entry.name for entry in list_files(path)[1]] if path.is_dir() and not path.is_symlink() else []
        wrong = [path / name for name in inner if is_replaced(f"{top}/{name}")]
        if path.is_symlink() or not (path.is_dir() or path.is_file()):
            wrong = [path]
        if wrong:
            what = "is a link" if wrong[0].is_symlink() else "is no regular file"
            raise ReportError(
                Issue("no-effect", str(wrong[0]), f"{what}, and a report is written into its folder", "remove it")
            )
    try:
        replace_folder(out, files, lambda name: name.partition("/")[0] in folders and is_replaced(name))
    except OSError as error:
        what = f"cannot be written: {(error.strerror or str(error)).lower()}"
        raise ReportError(Issue("unwritable", str(out), what, "choose another folder with --out")) from error
    return [out / name for name in files]
