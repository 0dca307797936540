"""Runs in a folder of MLflow's file store, read without MLflow.

A run is a folder with ``meta.yaml``. ``params/NAME`` holds a value, ``metrics/NAME`` one line per point, ``moment value
step``. A name with slashes is a path (mlflow.org/docs/latest/self-hosting/architecture/backend-store).
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.recorded.run_names import number_or_word
from lnlab.recorded.tracked import TrackedFolder
from lnlab.userfiles import read_user_file

_STATUSES = {1: "running", 2: "running", 3: "finished", 4: "failed", 5: "killed"}
"""``RunStatus`` of MLflow's protocol."""
_STEPS = range(-(2**63), 2**63)
_LARGEST_METRIC = 1 << 28
"""Bytes of one metric of one run."""


def mlflow_runs(folder: Path) -> list[Path]:
    """The folders of runs at or below a folder, of those that were not deleted."""
    folders = (path.parent for path in sorted(folder.rglob("meta.yaml")) if (path.parent / "metrics").is_dir())
    return [run for run in folders if ".trash" not in run.relative_to(folder).parts]


def read_mlflow_run(folder: Path) -> TrackedFolder | None:
    """Read a run, or return None if MLflow has marked it as deleted or the file describes no run.

    Raises:
        LabError: a file of it cannot be read.
    """
    content = read_user_file(folder / "meta.yaml", "file of MLflow")
    try:
        meta: Any = YAML(typ="safe", pure=True).load(content.decode())
    except (YAMLError, ValueError) as error:  # no UTF-8, or a date that is none
        raise LabError(Issue("unreadable", str(folder / "meta.yaml"), "is not YAML", "leave this run out")) from error
    if not isinstance(meta, dict) or meta.get("lifecycle_stage") == "deleted":
        return None
    files = [(folder / "meta.yaml", content)]
    settings = {}
    for path in _files(folder / "params"):
        files.append((path, read_user_file(path, "parameter")))
        settings[path.relative_to(folder / "params").as_posix()] = number_or_word(
            files[-1][1].decode(errors="replace").strip()
        )
    points = []
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
    frame = pl.DataFrame(points, schema={"name": pl.String, "step": pl.Int64, "value": pl.Float64}, orient="row")
    name = str(meta.get("run_name") or folder.name)
    return TrackedFolder(name, settings=settings, points=frame, files=files, status=status)


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file()) if folder.is_dir() else iter(())
