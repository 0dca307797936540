"""Runs while they go on, recorded and computed, in folders, stores and specs: how far each is, and where a curve jumps.

A look reads what is new since the one before.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from lnlab.app.request import open_store
from lnlab.app.watching import WatchedCurve, WatchedRun, watched_run
from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.outside.foreign_runs.folder import RUN_FILE, TAIL_FILE
from lnlab.outside.foreign_runs.runs import UNCLOSED, RecordedRun, read_run, run_label

if TYPE_CHECKING:
    from lnlab.store.plans import StoredPlan
    from lnlab.store.running_work import PlanWatch
    from lnlab.store.store import Store

_OF_STORE = ("plans", "trajectories")
"""Folders that a store has."""
_SPECS = (".yaml", ".yml")


@dataclass(frozen=True)
class WatchedRecording:
    """The progress of a recorded run.

    Attributes:
        run: what was read, without its tables.
        curves: the loss, the norm of the whole gradient, the largest attention logit, as far as recorded.
    """

    run: RecordedRun
    curves: tuple[WatchedCurve, ...]

    @property
    def status(self) -> str:
        """How it ended. One that was not closed is at work or dead: whoever watches takes it for ``running``."""
        unclosed = self.run.status == "interrupted" and self.run.reason == UNCLOSED
        return "running" if unclosed else self.run.status

    @property
    def over(self) -> bool:
        """Whether nothing of it is to come."""
        return self.status != "running"

    def lines(self) -> Iterator[str]:
        """The run, then a line for each curve."""
        of = f" of {self.run.steps:,}" if self.run.steps else ""
        yield f"{self.run.name}: {run_label(self.run)}: {self.status}, step {self.run.done:,}{of}"
        yield from (f"  {curve}" for curve in self.curves)

    def to_json(self) -> dict[str, Any]:
        """As a JSON object."""
        return {
            "folder": self.run.name,
            "name": run_label(self.run),
            "status": self.status,
            "done": self.run.done,
            "steps": self.run.steps,
            "curves": [asdict(curve) for curve in self.curves],
        }


class Watch:
    """Looks at all runs below some places, again and again.

    Args:
        places: folders of recorded runs, stores, specs, and folders that hold any of them.
        store: where specs keep their runs. None means as their project says.
    """

    def __init__(self, places: Sequence[Path], store: Path | None = None) -> None:
        self._places = tuple(places)
        self._store = store
        self._plans: dict[tuple[Path, str], PlanWatch] = {}
        self._recordings: dict[Path, tuple[object, WatchedRecording]] = {}

    def look(self) -> list[WatchedRecording | WatchedRun]:
        """The progress of recorded runs, then of computed ones by plan.

        Raises:
            LabError: there is none, or a run or a store cannot be read.
        """
        runs: list[WatchedRecording | WatchedRun] = []
        folders = [folder for place in self._places if place.is_dir() for folder in (place, *sorted(place.glob("*")))]
        for path in dict.fromkeys(folder for folder in folders if (folder / RUN_FILE).is_file()):
            files = [path / RUN_FILE, path / TAIL_FILE, *sorted(path.glob("part-*.parquet"))]
            state = [(file.name, file.stat().st_mtime_ns, file.stat().st_size) for file in files if file.is_file()]
            if path not in self._recordings or self._recordings[path][0] != state:  # else nothing was written since
                self._recordings[path] = state, _watched(path)
            runs.append(self._recordings[path][1])
        plans = {(store.root, stored.digest): (store, stored) for store, stored in self._stored_plans()}
        for key, (store, stored) in plans.items():
            if key not in self._plans:
                self._plans[key] = store.watch(stored)
            runs.append(watched_run(stored, self._plans[key].look()))
        if not runs:
            names = ", ".join(place.as_posix() for place in self._places)
            what = f"no run is in {names}, recorded or computed"
            raise LabError(
                Issue("not-found", "lnlab watch", what, "name folders of lnlab.Recorder, a store, or a spec")
            )
        return runs

    def _stored_plans(self) -> "Iterator[tuple[Store, StoredPlan]]":
        """The newest plan of each experiment in a store, or of a spec."""
        from lnlab.store.plans import plans_newest_first
        from lnlab.store.store import Store

        for place in self._places:
            if place.suffix in _SPECS and place.is_file():
                specs, stores = [place], []
            else:
                specs = [path for path in sorted(place.glob("*")) if path.suffix in _SPECS and path.is_file()]
                folders = (place, *sorted(path for path in place.glob("*") if path.is_dir()))
                stores = [
                    Store(path.absolute()) for path in folders if any((path / name).is_dir() for name in _OF_STORE)
                ]
            pairs = [(store, None) for store in stores] + [(open_store(self._store, spec), spec) for spec in specs]
            for store, spec in pairs:
                newest: dict[object, StoredPlan] = {}
                for stored in plans_newest_first(store.root):
                    if spec is None or Path(stored.spec) == spec.absolute():
                        newest.setdefault((stored.spec, stored.profile, stored.overrides), stored)
                yield from ((store, stored) for stored in newest.values())


def _watched(path: Path) -> WatchedRecording:
    run = read_run(path)
    curves: list[tuple[str, pl.DataFrame]] = []
    stored = run.tables.get("curves")
    if stored is not None:
        losses = stored.filter(pl.col("quantity") == "loss").sort("step")
        split = "train" if "train" in losses["split"] else "validation"
        curves.append(("loss", losses.filter(pl.col("split") == split).select("step", "value")))
    sites = run.tables.get("sites")
    if sites is not None:
        norms = sites.filter(pl.col("quantity") == "step_gradient_norm").group_by("step")
        whole = norms.agg(pl.col("value").drop_nulls().pow(2).sum().sqrt()).sort("step")
        logits = sites.filter(pl.col("quantity") == "attention_logit_max").group_by("step")
        curves += [("gradient norm", whole), ("attention logit", logits.agg(pl.col("value").max()).sort("step"))]
    drawn = tuple(WatchedCurve.of(name, rows.iter_rows()) for name, rows in curves if not rows.is_empty())
    # Every run below the places is kept, so that a look reads only what is new: their rows would not fit.
    return WatchedRecording(replace(run, tables={}), drawn)
