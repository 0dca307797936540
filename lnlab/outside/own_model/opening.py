"""``lnlab.open_runs`` and ``lnlab.from_frame``: what something else has trained, as one set of measurements."""

from collections.abc import Iterable, Mapping, Sequence
from glob import glob
from pathlib import Path
from typing import Any

from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.outside.foreign_runs.folder import RUN_FILE
from lnlab.outside.foreign_runs.from_table import runs_of_table
from lnlab.outside.foreign_runs.runs import read_run, refuse_one_run_twice
from lnlab.outside.own_model.measured import Measurements


def open_runs(folders: str | Path | Iterable[str | Path], *, ended: bool = False) -> Measurements:
    """Runs that recorders have written: ``frame``, ``plot(quantity, x="step")``, ``judge``, ``report``, ``paper``.

    Args:
        folders: a pattern such as ``runs/*``, or folders. What a pattern matches and is no run is passed over.
        ended: take runs that were not closed as whole. One that ends before the others then counts as ended early. By
            default claims wait for these runs.

    Returns:
        The measurements: ``frame("loss")`` has a row a run and step, where step counts the updates that were made.

    Raises:
        LabError: no run matches, a folder holds no run, or two runs have one setting and one seed.
    """
    if isinstance(folders, str | Path):
        paths = [path for path in map(Path, sorted(glob(str(folders)))) if (path / RUN_FILE).is_file()]  # noqa: PTH207
        if not paths:
            what = f"no run matches '{folders}'"
            raise LabError(Issue("not-found", "open_runs", what, "name folders that lnlab.Recorder has written"))
    else:
        paths = [Path(folder) for folder in folders]
    runs = [read_run(path, ended=ended) for path in paths]
    refuse_one_run_twice(runs)
    return Measurements.of_runs(runs)


def from_frame(
    frame: Any,
    *,
    axes: Sequence[str],
    seed: str = "seed",
    step: str | None = None,
    values: Sequence[str] | None = None,
    split: Mapping[str, str] | None = None,
    status: str | None = None,
    steps: int | None = None,
    cluster: str | None = None,
    unit: str | None = None,
) -> Measurements:
    """Results that something else has measured: ``frame``, ``plot``, ``judge``, ``report``, ``paper``.

    Args:
        frame: one row per run, or one or more per run and step, which are joined. It is a frame of polars or pandas, or
            columns by name.
        axes: columns that say what a run is. Together with the seed and the step they tell rows apart.
        seed: the column of whole numbers that tells replicates apart.
        step: the column of updates made. None means one row per run, whose numbers are those of training.
        values: columns with numbers. None means every number that is none of the others and no setting: one that is
            the same at every step and for every seed.
        split: the split of a column, by its name. ``val_``, ``val/`` and ``eval_`` mean validation.
        status: the column with how a run ended. None means ``status`` or ``state`` if it has the words of a tracker.
            Without one a number that is not finite is a failure.
        steps: updates planned. None means the largest step. A run with fewer is left out of claims after step 0.
        cluster: the column with groups of replicates that are not independent, such as documents of one topic.
            Intervals of claims take them into account. None means that all are taken as independent.
        unit: what one replicate is called where it is no seed, such as ``document``. Verdicts and pages then say so.

    Returns:
        The measurements, in the units of the table. A column is a quantity of its name, without the word of its split.

    Raises:
        LabError: a column is missing or has words among numbers, a row has no seed, or two rows of one run and step
            contradict each other.
    """
    arguments: dict[str, Any] = {"seed": seed, "step": step, "values": values, "split": split}
    runs = runs_of_table(frame, axes=axes, status=status, steps=steps, cluster=cluster, unit=unit, **arguments)
    return Measurements.of_runs(runs, list(axes))
