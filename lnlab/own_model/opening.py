"""``lnlab.open_runs``: the runs that recorders have written, as one set of measurements."""

from collections.abc import Iterable
from glob import glob
from pathlib import Path

from lnlab.errors import LabError, Problem
from lnlab.own_model.measured import Measurements
from lnlab.recorded.folder import RUN_FILE
from lnlab.recorded.runs import read_run, refuse_one_run_twice


def open_runs(folders: str | Path | Iterable[str | Path], *, ended: bool = False) -> Measurements:
    """Runs that recorders have written: ``frame``, ``plot(quantity, x="step")``, ``judge``, ``report``, ``paper``.

    Args:
        folders: a pattern ("runs/*") or folders. What a pattern matches and is no run is passed over.
        ended: take runs that were not closed as whole; one that ends before the others is then one that ended early.
            Else claims wait for them.

    Raises:
        LabError: no run matches; a folder is none of a run; or two runs have one setting and one seed.
    """
    if isinstance(folders, str | Path):
        paths = [path for path in map(Path, sorted(glob(str(folders)))) if (path / RUN_FILE).is_file()]  # noqa: PTH207
        if not paths:
            what = f"no run matches '{folders}'"
            raise LabError(Problem("open_runs", what, "name folders that lnlab.Recorder has written"))
    else:
        paths = [Path(folder) for folder in folders]
    runs = [read_run(path, ended=ended) for path in paths]
    refuse_one_run_twice(runs)
    return Measurements.of_runs(runs)
