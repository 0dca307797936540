"""What other tools write, read as one table.

CSV, Parquet and JSON lines, exports of Weights & Biases, event files of TensorBoard and folders of MLflow are told
apart by their names and headers.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from glob import glob
from pathlib import Path

import polars as pl

from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.keys import digest_bytes
from lnlab.recorded.event_runs import MARK, event_folders, read_event_run
from lnlab.recorded.mlflow_folder import mlflow_runs, read_mlflow_run
from lnlab.recorded.run_names import RunNames
from lnlab.recorded.tracked import TrackedFolder
from lnlab.user_tables import LARGEST_TABLE, csv_frame, refuse_packed
from lnlab.userfiles import read_user_file

_OTHERS: dict[str, Callable[[bytes], pl.DataFrame]] = {
    ".parquet": pl.read_parquet,
    ".jsonl": lambda content: pl.read_ndjson(content, infer_schema_length=None),
    ".ndjson": lambda content: pl.read_ndjson(content, infer_schema_length=None),
    ".json": pl.read_json,
}
READABLE = (".csv", ".tsv", *_OTHERS)
"""The endings of files that are read."""
_CHART_COLUMN = re.compile(r"(.+) - (.+)", re.DOTALL)
"""A column of a chart exported from Weights & Biases: the name of a run, and the metric."""
_BAND = re.compile(r"__(MIN|MAX)$")
"""Beside each such column stand two for the band that the chart draws."""


def read_table(files: str | Path | Iterable[str | Path], *, runs: str | None = None) -> pl.DataFrame:
    """What other tools have written, as one table for ``lnlab.from_frame``.

    Args:
        files: names or patterns of files and folders. Files are CSV, TSV, Parquet, JSON lines or TensorBoard's event
            files. Folders are a log folder of TensorBoard, or ``mlruns`` of MLflow or a part of it.
        runs: a pattern of the names of runs, ``{placement}-lr{lr}-seed{seed}``, whose fields become columns. The name
            is what a chart exported from Weights & Biases has before `` - `` in its header, the folder of an event
            file, the run's name in MLflow, or else the name of the file without its ending.

    Returns:
        The rows of all, one below another. Those of trackers have ``run_name``, ``step``, a column for each metric and
        one for each parameter (MLflow, and hyperparameters of TensorBoard).

    Raises:
        LabError: nothing matches, a file is of no known kind or cannot be read, or a name does not fit the pattern.
    """
    named = [files] if isinstance(files, str | Path) else list(files)
    return read_tables(matching(named, Path()), (), runs)[0]


def matching(patterns: Iterable[str | Path], folder: Path) -> list[Path]:
    """The files and folders that names or patterns match, each once, in their order.

    Raises:
        LabError: one matches nothing.
    """
    paths: list[Path] = []
    for pattern in patterns:
        path = folder / pattern
        # A file may have brackets in its name.
        names = [path] if path.exists() else [Path(name) for name in sorted(glob(str(path)))]  # noqa: PTH207 - with **
        if not names:
            raise LabError(
                Issue("not-found", "", f"no file matches '{pattern}'", "name files from the folder of the spec")
            )
        paths += names
    return list(dict.fromkeys(paths))


def read_tables(
    paths: Sequence[Path], columns: Collection[str], runs: str | None = None
) -> tuple[pl.DataFrame, dict[str, str]]:
    """The rows of all files and folders, one below another, and by file the digest of what was read.

    Args:
        paths: in the order of their rows.
        columns: some that a CSV file has, by which its separator is recognised.
        runs: a pattern of names, as of ``read_table``.

    Raises:
        LabError: a file is absent, of no known kind or unreadable, a column has words in one file and numbers in
            another, or the name of a run does not fit.
    """
    names = None if runs is None else RunNames(runs)
    frames: list[pl.DataFrame] = []
    digests: dict[str, str] = {}
    # A run that was resumed has several event files: the folder of one stands in its place.
    for path in dict.fromkeys(path.parent if MARK in path.name and path.is_file() else path for path in paths):
        if path.is_dir() or MARK in path.name:
            for run in _tracked_runs(path):
                digests |= {file.as_posix(): digest_bytes(content) for file, content in run.files}
                if not run.points.is_empty():
                    frames.append(run.rows({} if names is None else names.require(run.name)))
            continue
        ending = path.suffix.lower()
        if ending not in READABLE:
            what = f"ends with '{path.suffix}'"
            remedy = f"give a file that ends with {', '.join(READABLE)}, or a folder of TensorBoard or MLflow"
            raise LabError(Issue("unreadable", str(path), what, remedy))
        content = read_user_file(path, "table", LARGEST_TABLE)
        refuse_packed(path, content)
        # The seed may be a field of the pattern, and then is no column.
        asked = () if names is not None else columns
        try:
            rows = _OTHERS[ending](content) if ending in _OTHERS else csv_frame(path, content, asked)
        except (pl.exceptions.PolarsError, ValueError) as error:
            what = f"cannot be read: {' '.join(str(error).split())[:200]}"
            raise LabError(Issue("unreadable", str(path), what, "write it again, with one header line")) from error
        frames.append(_with_names(path, rows, names))
        digests[path.as_posix()] = digest_bytes(content)
    shown = ", ".join(map(str, paths))
    if not frames:
        raise LabError(Issue("missing", shown, "there are no numbers", "name files or folders with at least one run"))
    try:
        return pl.concat(frames, how="diagonal_relaxed"), digests
    except pl.exceptions.PolarsError as error:
        raise LabError(
            Issue("unreadable", shown, "have columns of different kinds", "give them one set of columns")
        ) from error


def _tracked_runs(folder: Path) -> Iterator[TrackedFolder]:
    if run_folders := mlflow_runs(folder):
        yield from (run for path in run_folders if (run := read_mlflow_run(path)) is not None)
        return
    holding = event_folders(folder)
    if not holding:
        what = "holds no event file of TensorBoard and no run of MLflow"
        raise LabError(
            Issue("unreadable", str(folder), what, f"name files that end with {', '.join(READABLE)}, or their folder")
        )
    runs: dict[Path, TrackedFolder] = {}
    for path in holding:
        run = read_event_run(path, path.name if path == folder else path.relative_to(folder).as_posix())
        above = runs.get(path.parent)
        # `SummaryWriter.add_hparams` writes a run of its own below the one that it describes, with its last numbers.
        describes = run.settings and not run.points["name"].is_duplicated().any()
        if describes and above is not None and not above.points.is_empty():
            further = run.points.filter(~pl.col("name").is_in(above.points["name"].implode()))
            runs[path.parent] = replace(
                above,
                settings={**above.settings, **run.settings},
                points=pl.concat([above.points, further]),
                files=[*above.files, *run.files],
            )
        else:
            runs[path] = run
    yield from runs.values()


def _with_names(path: Path, rows: pl.DataFrame, names: RunNames | None) -> pl.DataFrame:
    """Add a column for each field in the names of runs. Without ``names`` the rows stay as they are.

    In a chart exported from Weights & Biases, each column is one run: the columns become rows below one another. In any
    other table the name of the file is that of the run.
    """
    of_chart = [
        (column, match[1], match[2])
        for column in rows.columns
        if (match := _CHART_COLUMN.fullmatch(column)) and not _BAND.search(column)
    ]
    if names is None:
        if of_chart and any(_BAND.search(column) for column in rows.columns):
            remedy = "say what the names of its runs mean: runs: '{placement}-seed{seed}'"
            raise LabError(Issue("unreadable", str(path), "is a chart exported from Weights & Biases", remedy))
        return rows
    shared = [column for column in rows.columns if not (of_chart and _CHART_COLUMN.fullmatch(column))]
    metrics = {metric for _, _, metric in of_chart}
    for field in names.fields:
        if field in shared or field in metrics:
            what = f"the field '{field}' of '{names.pattern}' is a column of {path} already"
            raise LabError(Issue("conflict", "runs", what, "give the field another name"))
    if twice := metrics.intersection(shared):
        what = f"has a metric and a column of one name, '{min(twice)}'"
        raise LabError(Issue("conflict", str(path), what, "rename one of them"))
    if not of_chart:
        return rows.with_columns(pl.lit(value).alias(field) for field, value in names.require(path.stem).items())
    return pl.concat(
        [
            rows.select(
                *shared,
                *(pl.lit(value).alias(field) for field, value in names.require(run).items()),
                pl.col(column).alias(metric),
            ).drop_nulls(metric)
            for column, run, metric in of_chart
        ],
        how="diagonal_relaxed",
    )
