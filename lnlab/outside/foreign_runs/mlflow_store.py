"""Runs of MLflow, read without MLflow: in the SQLite file that is its default, or in a folder of its file store.

In the folder a run is a folder with ``meta.yaml``; ``params/NAME`` holds a value, ``metrics/NAME`` one line per point,
``moment value step``. A name with slashes is a path (mlflow.org/docs/latest/self-hosting/architecture/backend-store).
"""

import math
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.keys import Json
from lnlab.outside.foreign_runs.run_names import number_or_word
from lnlab.outside.foreign_runs.source import Source, stored_run, yaml_mapping
from lnlab.user_tables import LARGEST_TABLE
from lnlab.userfiles import read_user_file

DATABASES = (".db", ".sqlite", ".sqlite3")
"""Endings of SQLite files."""
_JOURNALS = ("-wal", "-journal")
"""Endings of the files in which SQLite keeps what is not in the database yet, or is still to be taken back."""
_READINGS = 10
_STATUSES = {1: "running", 2: "running", 3: "finished", 4: "failed", 5: "killed"}
"""``RunStatus`` of MLflow's protocol."""
_STEPS = range(-(2**63), 2**63)
_LARGEST_METRIC = 1 << 28
"""Bytes of one metric of one run."""
_INFINITE = 1.7976931348623157e308
"""What the SQL store writes for an infinite number."""
_RUNS = """select run_uuid, runs.name, status, experiments.name from runs join experiments using (experiment_id)
    where runs.lifecycle_stage = 'active' and experiments.lifecycle_stage = 'active' order by start_time, runs.rowid"""
_METRICS = "select key, step, value, is_nan from metrics where run_uuid = ? order by timestamp, rowid"


def read_mlflow_database(path: Path) -> list[Source]:
    """The runs of MLflow's SQLite file that were not deleted. Each has its ``experiment``.

    What was committed and is not in the file yet stands in a journal beside it. SQLite reads a copy of both, so that
    the store stays as it is, in a folder that cannot be written, too.

    Raises:
        LabError: it is no such file, or is written all the time.
    """
    files = _store_files(path)
    runs: list[Source] = []
    try:
        if not files[0][1].startswith(b"SQLite format 3\0"):
            raise sqlite3.DatabaseError("file is not a database")
        with TemporaryDirectory() as folder, closing(sqlite3.connect(Path(folder, path.name))) as database:
            for file, content in files:
                Path(folder, file.name).write_bytes(content)
            for run, name, status, experiment in database.execute(_RUNS).fetchall():
                stated = database.execute("select key, value from params where run_uuid = ?", (run,))
                settings = {"experiment": experiment, **{k: number_or_word(str(v).strip()) for k, v in stated}}
                points = []
                for key, step, value, is_nan in database.execute(_METRICS, (run,)):
                    number = math.copysign(math.inf, value) if abs(value) >= _INFINITE else float(value)
                    points.append((key, int(step), math.nan if is_nan else number))
                runs.append(stored_run(name or run, points, settings, files, str(status).lower()))
    except (sqlite3.Error, OverflowError) as error:
        what = f"is no SQLite file of MLflow: {error}"
        raise LabError(Issue("unreadable", str(path), what, "read it with polars and give its table")) from error
    return runs


def _store_files(path: Path) -> list[tuple[Path, bytes]]:
    """The database and the journals beside it, with their bytes, as they were at one moment."""
    names = [path, *(path.with_name(path.name + ending) for ending in _JOURNALS)]
    former: list[tuple[Path, bytes]] = []
    for _ in range(_READINGS):
        files = [(one, read_user_file(one, "database", LARGEST_TABLE)) for one in names if one == path or one.is_file()]
        if files == former:
            return files
        former = files
    what = f"was written during each of {_READINGS} readings"
    raise LabError(Issue("unreadable", str(path), what, "read a copy, or wait until its runs have ended"))


def mlflow_folders(folder: Path) -> list[Path]:
    """The folders of runs at or below a folder, of those that were not deleted."""
    folders = (path.parent for path in sorted(folder.rglob("meta.yaml")) if (path.parent / "metrics").is_dir())
    return [run for run in folders if ".trash" not in run.relative_to(folder).parts]


def read_mlflow_run(folder: Path) -> Source | None:
    """Read a run, or return None if MLflow has marked it as deleted or the file describes no run.

    Raises:
        LabError: a file of it cannot be read.
    """
    content = read_user_file(folder / "meta.yaml", "file of MLflow")
    meta = yaml_mapping(folder / "meta.yaml", content)
    if not meta or meta.get("lifecycle_stage") == "deleted":
        return None
    files = [(folder / "meta.yaml", content)]
    settings: dict[str, Json] = {}
    for path in _files(folder / "params"):
        files.append((path, read_user_file(path, "parameter")))
        settings[path.relative_to(folder / "params").as_posix()] = number_or_word(
            files[-1][1].decode(errors="replace").strip()
        )
    points: list[tuple[str, int, float]] = []
    for path in _files(folder / "metrics"):
        files.append((path, read_user_file(path, "metric", _LARGEST_METRIC)))
        name = path.relative_to(folder / "metrics").as_posix()
        for number, line in enumerate(files[-1][1].decode(errors="replace").splitlines(), start=1):
            cells = line.split()
            try:
                step = int(cells[2]) if len(cells) > 2 else 0
                points.append((name, step, float(cells[1])))
                if step not in _STEPS:
                    raise ValueError(step)
            except (ValueError, IndexError) as error:
                where = f"{path}:{number}"
                raise LabError(
                    Issue("unreadable", where, "is no point of a metric", "a line is: moment value step")
                ) from error
    code = meta.get("status", 3)
    status = _STATUSES[code] if isinstance(code, int) and code in _STATUSES else str(code).lower()
    return stored_run(str(meta.get("run_name") or folder.name), points, settings, files, status)


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file()) if folder.is_dir() else iter(())
