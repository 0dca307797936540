"""The folder that a report is a function of: ``data`` is a store that holds its plan and its rows, in one pack.

Beside these lie what its page says (``experiment.json``), its verdicts, and the verdicts of others that it cites. A
folder may come from anybody: it is read without links, and with a bound on all that is read and unfolded.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl

from lnlab.claims.claim import Claim, Verdict
from lnlab.claims.verdict_rows import verdict_frame, verdicts_from_frame
from lnlab.errors import LabError, ReportError
from lnlab.folders import complete_interrupted, replace_folder
from lnlab.issues import Issue
from lnlab.keys import digest_bytes
from lnlab.report.contents import EXPERIMENT_FILE, LARGEST_FACTS, LARGEST_REPORT_FILE, list_files, read_file
from lnlab.report.facts import ReportFacts, facts_from_json, facts_text
from lnlab.report.thinning import thinned_results
from lnlab.store.join import join_results
from lnlab.store.kept import plan_as_files, results_as_files
from lnlab.store.packs import PACKS_FOLDER, Packs
from lnlab.store.parquet_sizes import parquet_sizes
from lnlab.store.plans import PLANS_FOLDER, StoredPlan, load_plan, plan_tables
from lnlab.store.records.checksummed import CorruptFile
from lnlab.tables import TABLES, Results, smallest_parquet, table_schema
from lnlab.userfiles import parse_json

EVIDENCE_TABLE = "evidence"
NOTEBOOK_FILE = "notebook.ipynb"
THUMBNAIL_FILE = "figures/thumbnail.svg"
"""The first figure as the index shows it."""
_OWN_FOLDERS = ("data", "figures", "tables")
_WRITE_AGAIN = "write the report again"
LARGEST_UNFOLDED = 2 * 1024 * 1024 * 1024
"""Bytes of all tables of a report in memory."""
_DIGEST = re.compile(r"[0-9a-f]{64}")
_OWN_FILES = (EXPERIMENT_FILE, "data/verdicts.parquet", f"data/{EVIDENCE_TABLE}.parquet")
_UNREADABLE = (
    *(LabError, CorruptFile, OSError, ValueError, TypeError, KeyError, IndexError, AttributeError),
    *(RecursionError, OverflowError, pl.exceptions.PolarsError, pl.exceptions.PanicException),
)


def report_data(
    facts: ReportFacts,
    results: Results,
    verdicts: Sequence[Verdict],
    claims: Sequence[Claim] = (),
    before: Path | None = None,
) -> dict[str, bytes]:
    """The files ``data/*`` of a report: a store that holds these results, with long curves as they are drawn."""
    thinned = thinned_results(facts, results, verdicts, claims)
    return data_files(facts, thinned, verdicts, claims, results_as_files(thinned), before)


def data_files(
    facts: ReportFacts,
    results: Results,
    verdicts: Sequence[Verdict],
    claims: Sequence[Claim],
    packs: Mapping[str, bytes],
    before: Path | None = None,
) -> dict[str, bytes]:
    """The files ``data/*``. A table in the folder ``before`` stays if it is equal and its file no larger.

    Args:
        facts: of the report.
        results: its runs, axes and needs become its plan.
        verdicts: in the order of the spec.
        claims: resolved.
        packs: the files that hold the rows, by their path below the store.
        before: the folder.
    """
    stored = StoredPlan(
        name=facts.name,
        digest=facts.digest,
        profile=facts.profile,
        overrides=facts.overrides,
        quick="",
        spec=facts.path,
        text=digest_bytes(facts.spec.encode()),
        facts={"claims": list(claims)},
        files={},
    )
    plan = plan_as_files(stored, results, lambda name, content: _equal_before(before, f"data/{name}", content))
    files = {f"data/{name}": content for name, content in sorted({**packs, **plan}.items())}
    for name, table in (("verdicts", verdict_frame(verdicts)), (EVIDENCE_TABLE, results.evidence)):
        if name == "verdicts" or not table.is_empty():
            path = f"data/{name}.parquet"
            files[path] = _equal_before(before, path, smallest_parquet(table))
    return files | {EXPERIMENT_FILE: facts_text(facts).encode()}


def _equal_before(before: Path | None, path: str, content: bytes) -> bytes:
    """The file of before that holds the same table and is no larger, so that a newer polars changes no report."""
    with suppress(ReportError, pl.exceptions.PolarsError, pl.exceptions.PanicException):
        old = None if before is None else read_file(before, path, len(content))
        if old is not None and pl.read_parquet(BytesIO(old)).equals(pl.read_parquet(BytesIO(content))):
            return old
    return content


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
    return parse_report(store_files(out), out)


def store_files(out: Path) -> dict[str, bytes]:
    """The files ``data/*`` of a report, each a regular file of bounded size that no link leads to.

    Raises:
        ReportError: something else lies there, or it is more than a report holds.
    """
    files = {path: content for path in _OWN_FILES if (content := read_file(out, path)) is not None}
    names, foreign = list_files(out / "data") if (out / "data").is_dir() else ([], [])
    if foreign:
        raise ReportError(
            *(Issue("damaged", str(out / "data" / one.name), f"is {one.what}", "remove it") for one in foreign)
        )
    for name in names:
        if name.startswith((f"{PACKS_FOLDER}/", f"{PLANS_FOLDER}/")):
            room = LARGEST_REPORT_FILE - sum(map(len, files.values()))
            files[f"data/{name}"] = read_file(out, f"data/{name}", max(room, 0)) or b""
    return files


def parse_report(files: Mapping[str, bytes], out: Path) -> tuple[ReportFacts, Results, list[Verdict]]:
    """Everything a report is made of, from its files.

    Args:
        files: ``data/*`` by their path below the folder.
        out: the folder, for messages.

    Raises:
        ReportError: a file is absent or damaged.
    """
    facts = read_facts(out, files.get(EXPERIMENT_FILE))
    if not _DIGEST.fullmatch(facts.digest):
        raise ReportError(Issue("damaged", str(out / EXPERIMENT_FILE), "its plan has no digest", _WRITE_AGAIN))

    judged = parse_verdicts(files.get("data/verdicts.parquet"), out)
    evidence = parse_table(files.get(f"data/{EVIDENCE_TABLE}.parquet"), EVIDENCE_TABLE, out)
    try:
        results = _results_in(files, lambda root: plan_tables(root, load_plan(root, facts.digest)))
    except _UNREADABLE as error:
        raise _damaged(out, PACKS_FOLDER, error) from error
    return facts, replace(results, evidence=evidence), judged


def parse_table(content: bytes | None, name: str, out: Path) -> pl.DataFrame:
    """A table of a report from the content of its file, without rows where there is no file.

    Raises:
        ReportError: it is damaged, has other columns, or is larger than any report.
    """
    schema = table_schema(name)
    if content is None:
        return pl.DataFrame(schema=schema)
    try:
        _refuse_large(content)
        rows = pl.read_parquet(BytesIO(content))
    except (OSError, ValueError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise _damaged(out, f"{name}.parquet", error) from error
    if wrong := [column for column, kind in schema.items() if rows.schema.get(column) != kind]:
        raise _damaged(out, f"{name}.parquet", ValueError(f"column {wrong[0]} is absent or of another type"))
    return rows


def parse_verdicts(content: bytes | None, out: Path) -> list[Verdict]:
    """The verdicts of a report from the content of their file.

    Raises:
        ReportError: it is damaged.
    """
    try:
        return list(verdicts_from_frame(parse_table(content, "verdicts", out)))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, pl.exceptions.PolarsError) as error:
        raise _damaged(out, "verdicts.parquet", error) from error


def packs_in(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The packs among the files of a report, by their path below its store."""
    prefix = f"data/{PACKS_FOLDER}/"
    return {name.removeprefix("data/"): content for name, content in files.items() if name.startswith(prefix)}


def results_of_plan(files: Mapping[str, bytes], plan: Mapping[str, pl.DataFrame], out: Path) -> Results:
    """What a report holds of the runs of a plan, by its tables ``runs``, ``axes`` and ``needs``.

    Args:
        files: ``data/*`` by their path below the folder.
        plan: today's, or any other.
        out: the folder, for messages.

    Raises:
        ReportError: a pack is damaged.
    """
    try:
        return _results_in(files, lambda _: plan)
    except _UNREADABLE as error:
        raise _damaged(out, PACKS_FOLDER, error) from error


def _results_in(files: Mapping[str, bytes], plan_of: Callable[[Path], Mapping[str, pl.DataFrame]]) -> Results:
    """The results of a plan, read as a store reads them, from a copy that nobody else can change."""
    unfolded = 0
    with TemporaryDirectory(prefix="lnlab-report-") as scratch:
        root = Path(scratch)
        for path, content in files.items():
            if path.startswith(("data/packs/", "data/plans/")):
                place = root / path.removeprefix("data/")
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(content)
                unfolded += _refuse_large(content, unfolded) if path.endswith(".parquet") else 0
        Packs(root).require_whole()
        results = join_results(root, plan_of(root))
        return replace(results, tables=dict(results.tables.items()), scans={})


def _refuse_large(content: bytes, before: int = 0) -> int:
    """How many bytes a table takes in memory, told from its headers.

    Raises:
        ValueError: it is no Parquet file, or more than a report holds.
    """
    unfolded = parquet_sizes(content).unfolded
    if before + unfolded > LARGEST_UNFOLDED:
        raise ValueError(f"it unfolds to {before + unfolded:,} bytes, and may to {LARGEST_UNFOLDED:,}")
    return unfolded


def read_facts(out: Path, content: bytes | None) -> ReportFacts:
    """The facts of a report from the content of ``experiment.json``.

    Raises:
        ReportError: the file is absent, or is not what a report has there.
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
    return facts_from_json(value, where)


def _damaged(out: Path, name: str, error: BaseException) -> ReportError:
    reason = next(iter(str(error).splitlines()), type(error).__name__)[:160]
    return ReportError(Issue("unreadable", str(out / "data" / name), f"cannot be read: {reason}", _WRITE_AGAIN))


def is_replaced(name: str) -> bool:
    """Whether the next report replaces a file of this name, below the folder, or drops it."""
    folder, _, file = name.partition("/")
    return name in (NOTEBOOK_FILE, THUMBNAIL_FILE) or (
        folder in _OWN_FOLDERS
        and file.startswith((*TABLES, f"{PACKS_FOLDER}/", f"{PLANS_FOLDER}/", "figure-", "table-"))
    )


def write_files(out: Path, files: Mapping[str, bytes], folders: Sequence[str]) -> list[Path]:
    """Put these files into a folder, all at once or none. Drop what the report before this one wrote into ``folders``.

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
