"""``lnlab export``: the finished units of a spec as one archive, with all from which their keys can be recomputed."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from lnlab import __version__
from lnlab.errors import LabError, Problem
from lnlab.keys import Json
from lnlab.store.archive import ArchivedFile, write_archive
from lnlab.store.missing_work import TrajectoryRequest, missing_of_request
from lnlab.store.plans import StoredPlan, plan_tables, plans_newest_first
from lnlab.store.records.checksummed import CorruptFile, to_checksummed_json
from lnlab.store.records.layout import RECORD_FILE
from lnlab.store.records.records import StoreReader, TrajectoryContents

if TYPE_CHECKING:
    from lnlab.store.store import Store

UNITS_FORMAT = 1


@dataclass(frozen=True)
class Export:
    """What was written: how many units, their bytes, and how many were left out, with the reason of each kind."""

    units: int
    size: int
    left_out: dict[str, int]


@dataclass
class _Manifest:
    """What the units of an archive are; settings and probes stand there once."""

    settings: dict[str, int] = field(default_factory=dict)
    probes: dict[str, int] = field(default_factory=dict)
    units: list[Json] = field(default_factory=list)

    def add(self, trajectory: str, setting: str, seed: int, measurements: dict[str, tuple[int, str]]) -> None:
        """Add a unit; of each measurement its key, its training step and its probe."""
        number = self.settings.setdefault(setting, len(self.settings))
        taken = [
            [key, step, self.probes.setdefault(probe, len(self.probes))] for key, (step, probe) in measurements.items()
        ]
        self.units.append([trajectory, number, seed, taken])

    def content(self) -> bytes:
        """As the archive has it, with its own digest."""
        settings, probes = ([json.loads(text) for text in texts] for texts in (self.settings, self.probes))
        fields = {"settings": settings, "probes": probes, "units": self.units}
        return to_checksummed_json({"format": UNITS_FORMAT, "lnlab": __version__, **fields})


def export_units(store: "Store", stored: StoredPlan, path: Path) -> Export:
    """Write the finished units of a plan, and of the tuning runs that decided it, into an archive.

    Raises:
        LabError: no unit is finished, or the store or the archive cannot be read or written.
    """
    plans = [plan for plan in plans_newest_first(store.root) if plan.asks_the_same(stored)]
    steps_and_probes = _measurements(store)
    reader = StoreReader(store.root)
    manifest = _Manifest()
    left_out: dict[str, int] = {}
    files: list[ArchivedFile] = []
    for trajectory, (setting, seed, request) in sorted(_units(store, plans).items()):
        contents = reader.read(trajectory)
        reason = _why_left_out(contents, request, steps_and_probes)
        if reason:
            left_out[reason] = left_out.get(reason, 0) + 1
            continue
        keys = dict.fromkeys(key for record in contents.records for key in record.measurements)
        manifest.add(trajectory, setting, seed, {key: steps_and_probes[key] for key in keys})
        files += _files(trajectory, contents)
    if not manifest.units:
        reasons = ", ".join(f"{number} {reason}" for reason, number in left_out.items())
        raise LabError(Problem(stored.spec, f"no unit of it is finished ({reasons})", f"lnlab run {stored.spec} first"))
    write_archive(path, manifest.content(), files)
    return Export(len(manifest.units), sum(len(entry.content) for entry in files), left_out)


def _units(store: "Store", plans: list[StoredPlan]) -> dict[str, tuple[str, int, TrajectoryRequest]]:
    """Trajectory -> the setting of its longest run, its seed, and what these plans request of it."""
    units: dict[str, tuple[str, int, TrajectoryRequest]] = {}
    for plan in plans:
        runs = plan_tables(store.root, plan)["runs"]
        for trajectory, steps, seed, setting in runs.select("trajectory", "steps", "seed", "setting").iter_rows():
            if trajectory not in units or units[trajectory][2].steps < steps:
                units[trajectory] = setting, seed, TrajectoryRequest(steps)
    return units


def _measurements(store: "Store") -> dict[str, tuple[int, str]]:
    """Measurement -> its training step and its probe, of every plan of the store: units are shared between specs."""
    measurements: dict[str, tuple[int, str]] = {}
    for plan in plans_newest_first(store.root):
        try:
            needs = plan_tables(store.root, plan)["needs"]
        except CorruptFile:
            continue
        measurements |= {
            key: (step, probe) for key, step, probe in needs.select("measurement", "step", "probe").iter_rows()
        }
    return measurements


def _why_left_out(contents: TrajectoryContents, request: TrajectoryRequest, known: dict[str, tuple[int, str]]) -> str:
    """Why a unit is not exported, or nothing if it is."""
    if missing_of_request(contents, request) is not None:
        return "not finished"
    unknown = [key for record in contents.records for key in record.measurements if key not in known]
    return "measured for a spec of which the store has no plan" if unknown else ""


def _files(trajectory: str, contents: TrajectoryContents) -> Iterator[ArchivedFile]:
    for record, tables in zip(contents.records, contents.tables, strict=True):
        yield ArchivedFile(trajectory, record.folder.name, RECORD_FILE, record.content())
        for name, content in sorted(tables.items()):
            yield ArchivedFile(trajectory, record.folder.name, name, content)
