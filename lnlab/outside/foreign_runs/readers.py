"""What other tools write, read as one table.

CSV, Parquet and JSON lines, charts of Weights & Biases, ``trainer_state.json`` of transformers, ``metrics.csv`` of
Lightning, event files of TensorBoard and stores of MLflow are told apart by their names and headers. Each reader
returns sources; what makes a table of them is the same for all.
"""

import io
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from glob import glob
from pathlib import Path
from typing import Any, Literal

import polars as pl

from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.keys import Json, digest_bytes
from lnlab.outside.foreign_runs.cells import typed_frames
from lnlab.outside.foreign_runs.event_runs import MARK, event_folders, read_event_runs
from lnlab.outside.foreign_runs.mlflow_store import DATABASES, mlflow_folders, read_mlflow_database, read_mlflow_run
from lnlab.outside.foreign_runs.run_names import RunNames
from lnlab.outside.foreign_runs.settings import leaves
from lnlab.outside.foreign_runs.source import Source, yaml_mapping
from lnlab.user_tables import read_table_file, text_frame
from lnlab.userfiles import read_user_file

Mark = Literal[",", "."]
TRAINER_STATE, LIGHTNING_SETTINGS = "trainer_state.json", "hparams.yaml"
_CHART_COLUMN = re.compile(r"(.+) - (.+)", re.DOTALL)
"""A column of a chart exported from Weights & Biases: the name of a run, and the metric."""
_BAND = re.compile(rf"{_CHART_COLUMN.pattern}__(MIN|MAX)", re.DOTALL)
"""Beside each such column stand two for the band that the chart draws."""


def read_table(
    files: str | Path | Iterable[str | Path],
    *,
    runs: str | None = None,
    decimal: Mark | None = None,
    thousands: Mark | None = None,
) -> pl.DataFrame:
    """What other tools have written, as one table for ``lnlab.from_frame``.

    Args:
        files: names or patterns of files and folders: CSV, TSV, Parquet, JSON, JSON lines, a chart exported from
            Weights & Biases, ``trainer_state.json`` of transformers, TensorBoard's event files, MLflow's SQLite file
            or ``mlruns``. Of a folder all tables below it are read, or what its tracker keeps there.
        runs: a pattern of the names of runs, ``{placement}-lr{lr}-seed{seed}``, whose fields become columns. The name
            is what a chart exported from Weights & Biases has before `` - `` in its header, the folder of an event
            file, the run's name in MLflow, or else the path of the file. ``*`` stands for anything, and a pattern with
            slashes is compared with as many parts at the end of the path.
        decimal: the decimal mark of columns of text that do not show theirs, as ``2,310`` does not.
        thousands: the other mark, in place of ``decimal``.

    Returns:
        The rows of all, one below another. Those of trackers have ``run_name``, ``step``, a column for each metric and
        one for each parameter, and ``status`` where one is kept.

    Raises:
        LabError: nothing matches, a file is of no known kind or cannot be read, a name does not fit the pattern, or
            the decimal mark of a column is open.
    """
    named = [files] if isinstance(files, str | Path) else list(files)
    return read_tables(matching(named, Path()), (), runs, decimal=decimal, thousands=thousands)[0]


def matching(patterns: Iterable[str | Path], folder: Path) -> list[Path]:
    """The files and folders that names or patterns match, each once, in their order.

    Raises:
        LabError: one matches nothing.
    """
    paths: list[Path] = []
    for pattern in patterns:
        path = folder / pattern
        # A file may have brackets in its name.
        names = [path] if path.exists() else [Path(name) for name in sorted(glob(str(path), recursive=True))]  # noqa: PTH207
        if not names:
            raise LabError(
                Issue("not-found", "", f"no file matches '{pattern}'", "name files from the folder of the spec")
            )
        paths += names
    return list(dict.fromkeys(paths))


def read_tables(
    paths: Sequence[Path],
    columns: Collection[str],
    runs: str | None = None,
    *,
    decimal: Mark | None = None,
    thousands: Mark | None = None,
) -> tuple[pl.DataFrame, dict[str, str]]:
    """The rows of all files and folders, one below another, and by file the digest of what was read.

    Args:
        paths: in the order of their rows.
        columns: some that a CSV file may have, by which its separator is recognised.
        runs: as of ``read_table``.
        decimal: as of ``read_table``.
        thousands: as of ``read_table``.

    Raises:
        LabError: as of ``read_table``, or a column has values of different kinds in different files.
    """
    names = None if runs is None else RunNames(_without_ending(runs))
    if decimal is not None and decimal == thousands:
        raise LabError(Issue("conflict", "decimal", "is the mark of thousands, too", "give one of the two"))
    other: dict[Mark | None, Mark] = {",": ".", ".": ","}
    # A run that was resumed has several event files: the folder of one stands in its place.
    places = dict.fromkeys(path.parent if MARK in path.name and path.is_file() else path for path in paths)
    # The seed may be a field of the pattern, and then is no column.
    found = [source for path in places for source in _sources(path, columns if names is None else ())]
    sources = [source for source in found if not source.rows.is_empty()]
    shown = ", ".join(map(str, paths))
    if not sources:
        raise LabError(Issue("missing", shown, "there are no numbers", "name files or folders with at least one run"))
    bands = (match for source in sources for column in source.rows.columns if (match := _BAND.fullmatch(column)))
    if names is None and (band := next(bands, None)):
        what = f"is a chart exported from Weights & Biases, with the run '{band[1]}'"
        remedy = (
            "say what such names mean, runs: '{optimizer}-seed{seed}', or keep them, runs: '{Name}', and join a table"
        )
        raise LabError(Issue("unreadable", shown, what, remedy))
    parts = sources if names is None else [part for source in sources for part in _runs_of_chart(source)]
    called = [part.files[0][0].as_posix() if part.files else part.name for part in parts]
    typed = typed_frames([part.rows for part in parts], called, decimal or other.get(thousands))
    frames = [replace(part, rows=rows).table(names) for part, rows in zip(parts, typed, strict=True)]
    digests = {path.as_posix(): digest_bytes(content) for source in found for path, content in source.files}
    try:
        return pl.concat(frames, how="diagonal_relaxed"), digests
    except pl.exceptions.PolarsError as error:
        raise LabError(
            Issue("unreadable", shown, "have columns of different kinds", "give them one set of columns")
        ) from error


def _sources(path: Path, columns: Collection[str]) -> Iterator[Source]:
    """What a file or a folder holds."""
    ending = path.suffix.lower()
    if path.is_dir():
        yield from _sources_of_folder(path, columns)
    elif ending in DATABASES:
        yield from read_mlflow_database(path)
    elif ending not in READABLE:
        remedy = f"give a file that ends with {', '.join(READABLE)}, or a folder of TensorBoard or MLflow"
        raise LabError(Issue("unreadable", str(path), f"ends with '{path.suffix}'", remedy))
    else:
        content = read_table_file(path)
        files = [(path, content)]
        try:
            rows = _READERS[ending](content) if ending in _READERS else text_frame(path, content, columns)
        except (pl.exceptions.PolarsError, ValueError) as error:
            what = f"cannot be read: {' '.join(str(error).split())[:200]}"
            raise LabError(Issue("unreadable", str(path), what, "write one row a run, or a run and step")) from error
        beside = path.parent / LIGHTNING_SETTINGS
        if path.name == "metrics.csv" and beside.is_file():
            files.append((beside, read_user_file(beside, "file of Lightning")))
        yield Source(_without_ending(path.as_posix()), rows, _lightning_settings(*files[1:]), files)


def _sources_of_folder(folder: Path, columns: Collection[str]) -> Iterator[Source]:
    if stored := mlflow_folders(folder):
        yield from (run for path in stored if (run := read_mlflow_run(path)) is not None)
        return
    tables = [path for path in sorted(folder.rglob("*")) if path.suffix.lower() in (*READABLE, *DATABASES)]
    # Other files that end with .json are the settings of a model.
    tables = _latest_states([path for path in tables if path.suffix != ".json" or path.name == TRAINER_STATE])
    if event_folders(folder):
        if tables:
            what = f"holds event files of TensorBoard and tables ({tables[0].relative_to(folder).as_posix()})"
            raise LabError(Issue("ambiguous", str(folder), what, "name one of them, as with '**/metrics.csv'"))
        yield from read_event_runs(folder)
    elif not tables:
        what = f"holds no table ({', '.join(READABLE)}), no event file of TensorBoard and no run of MLflow"
        raise LabError(Issue("unreadable", str(folder), what, "name the folder of one of these"))
    for path in tables:
        yield from _sources(path, columns)


def _latest_states(paths: Sequence[Path]) -> list[Path]:
    """The paths, of the states that a Trainer wrote in the folder of a run and below it only the last."""
    last: dict[Path, tuple[int, Path]] = {}
    for path in paths:
        if path.name == TRAINER_STATE:
            number = re.fullmatch(r"checkpoint-(\d+)", path.parent.name)
            run, step = (path.parent.parent, int(number[1])) if number else (path.parent, 2**63)
            last[run] = max(last.get(run, (-1, path)), (step, path))
    states = {path for _, path in last.values()}
    return [path for path in paths if path.name != TRAINER_STATE or path in states]


def _json_lines(content: bytes) -> pl.DataFrame:
    records = []
    for number, line in enumerate(content.decode("utf-8-sig").split("\n"), start=1):
        if line.strip():
            try:
                records.append(json.loads(line, object_pairs_hook=_record))
            except ValueError as error:
                raise ValueError(f"line {number} is no JSON ({error}); leave it out if a kill has cut it") from error
    return _frame_of_records(records)


def _json(content: bytes) -> pl.DataFrame:
    data = json.loads(content.decode("utf-8-sig"), object_pairs_hook=_record)
    history = data.get("log_history") if isinstance(data, dict) else None  # the state of a Trainer of transformers
    return _frame_of_records(history if isinstance(history, list) else data)


def _record(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"a row has two values of '{next(name for name in names if names.count(name) > 1)}'")
    return record


def _frame_of_records(records: Any) -> pl.DataFrame:
    """Rows of nested mappings, whose columns are dotted paths."""
    if not isinstance(records, list) or not all(isinstance(record, dict) for record in records):
        raise ValueError("it is no list of rows, [{...}, ...]")
    rows = [dict(leaves(record)) for record in records]
    names = dict.fromkeys(name for row in rows for name in row)
    if lists := [name for name in names if any(isinstance(row.get(name), list | dict) for row in rows)]:
        raise ValueError(f"'{lists[0]}' holds lists, and a cell is a number or a word")
    return pl.DataFrame([pl.Series(name, [row.get(name) for row in rows], strict=False) for name in names])


_READERS: dict[str, Callable[[bytes], pl.DataFrame]] = {
    ".parquet": lambda content: pl.read_parquet(io.BytesIO(content)),
    ".jsonl": _json_lines,
    ".ndjson": _json_lines,
    ".json": _json,
}
READABLE = (".csv", ".tsv", *_READERS)
"""The endings of tables that are read."""


def _without_ending(name: str) -> str:
    return next((name.removesuffix(ending) for ending in READABLE if name.endswith(ending)), name)


def _lightning_settings(*beside: tuple[Path, bytes]) -> dict[str, Json]:
    """The hyperparameters that Lightning keeps beside its metrics, if it does."""
    stated = (pair for file in beside for pair in leaves(yaml_mapping(*file)))
    return {name: value for name, value in stated if value is None or isinstance(value, bool | int | float | str)}


def _runs_of_chart(source: Source) -> Iterator[Source]:
    """A source for each run of a chart of Weights & Biases, which has columns of its own. Any other table is one."""
    rows = source.rows
    matched = {column: match for column in rows.columns if (match := _CHART_COLUMN.fullmatch(column))}
    shared = [column for column in rows.columns if column not in matched]
    of_runs: dict[str, dict[str, str]] = {}
    for column, match in matched.items():
        if not _BAND.fullmatch(column):
            of_runs.setdefault(match[1], {})[match[2]] = column
    if twice := {metric for metrics in of_runs.values() for metric in metrics}.intersection(shared):
        what = f"has a metric and a column of one name, '{min(twice)}'"
        raise LabError(Issue("conflict", source.name, what, "rename one of them"))
    for run, metrics in of_runs.items():
        own = rows.select(*shared, **{metric: pl.col(column) for metric, column in metrics.items()})
        yield Source(run, own.filter(pl.any_horizontal(pl.col(list(metrics)).is_not_null())))
    if not of_runs:
        yield source
