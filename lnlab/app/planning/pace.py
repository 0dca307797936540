"""How long units take on this machine: as its speed says, corrected by units of the same plan that have ended.

    seconds of a plan = correction * max(sum of its units' seconds / workers, the longest)

with the seconds of a unit as ``Cost.seconds`` has them, and as the correction the median ratio of actual to estimate.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from lnlab.app.formats import format_count
from lnlab.app.planning.machine_speed import machine_speed
from lnlab.compile.cost.cost import cost
from lnlab.compile.cost.duration import REFERENCE_SPEED, Speed
from lnlab.compile.plan import Plan
from lnlab.compile.work import Trajectory
from lnlab.store.store import Store

if TYPE_CHECKING:
    from lnlab.compile.resolve.choices import Registries

ENOUGH_UNITS = 3
"""Units of the same kind that have ended before they correct an estimate."""


@dataclass(frozen=True)
class Pace:
    """The speed of a machine, what estimates by it are to be multiplied with, and where that comes from, in words."""

    speed: Speed
    correction: float
    source: str

    def unit_seconds(self, units: Sequence[Trajectory], known: "Registries") -> dict[str, float]:
        """How long each unit takes one worker."""
        return {
            unit.key: self.correction * cost(unit.setting, unit.measurements, known).seconds(self.speed)
            for unit in units
        }

    def seconds(self, units: Sequence[Trajectory], known: "Registries", workers: int) -> float:
        """Return the time of these units on this many workers."""
        return elapsed(list(self.unit_seconds(units, known).values()), workers)


def elapsed(seconds: Sequence[float], workers: int) -> float:
    """Return the time of units of these lengths on this many workers. A unit is never split."""
    return max(sum(seconds) / min(workers, len(seconds)), *seconds) if seconds else 0.0


def no_pace(plan: Plan) -> str:
    """Why nothing is known of how long a plan takes."""
    devices = sorted({unit.setting["train"]["device"] for unit in plan.trajectories} - {"cpu"})
    return f"not known on {' and '.join(devices)} until a unit has ended there"


def expected_pace(store: Store, plan: Plan, known: "Registries") -> Pace | None:
    """The pace of this machine, corrected where enough units of the plan have ended.

    It is None where units run on a device other than the CPU and too few have ended. Only the speed of the CPU was
    measured.
    """
    elsewhere = any(unit.setting["train"]["device"] != "cpu" for unit in plan.trajectories)
    speed = REFERENCE_SPEED if elsewhere else machine_speed()
    actual = actual_seconds(store, plan)
    ratios = [
        actual[unit.key] / cost(unit.setting, unit.measurements, known).seconds(speed)
        for unit in plan.trajectories
        if unit.key in actual
    ]
    if elsewhere:
        number = format_count(len(ratios), "unit")
        return Pace(speed, median(ratios), f"estimated from {number} of this plan") if ratios else None
    if len(ratios) < ENOUGH_UNITS:
        return Pace(speed, 1.0, "estimated from the speed of this machine")
    number = format_count(len(ratios), "unit")
    return Pace(speed, median(ratios), f"estimated from the speed of this machine and {number} of this plan")


def actual_seconds(store: Store, plan: Plan) -> dict[str, float]:
    """Trajectory -> the seconds that it took, for the trajectories of a plan with a finished run."""
    runs = store.found(plan).runs
    finished = runs.filter((runs["status"] == "finished") & (runs["seconds"] > 0)).sort("steps")
    # By steps: of several runs of a trajectory the longest is the last, and stays.
    return dict(finished.select("trajectory", "seconds").iter_rows())
