"""How long units take on this machine: as its speed says, corrected by units of the same plan that have ended.

    seconds of a plan = correction * max(sum of its units' seconds / workers, the longest)

with the seconds of a unit as ``Cost.seconds`` has them, and as the correction the median ratio of actual to estimate.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from lnlab.app.formats import format_count
from lnlab.app.planning.machine_speed import machine_speed
from lnlab.compile.cost.cost import cost
from lnlab.compile.cost.duration import REFERENCE_SPEED, Speed
from lnlab.compile.plan import Plan
from lnlab.compile.work import Trajectory
from lnlab.execute.machine import ThisMachine
from lnlab.execute.registry_loader import RegistryLoader
from lnlab.execute.scheduler import sweep
from lnlab.execute.unit import SAVE_EVERY, Event
from lnlab.store.store import Store

if TYPE_CHECKING:
    from lnlab.app.request import Request
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
    return f"not known on {' and '.join(devices)}: measure one unit with --calibrate"


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


def measured_pace(
    store: Store, plan: Plan, request: "Request", units: Sequence[Trajectory], known: "Registries"
) -> Pace | None:
    """The pace of one unit of median cost, which is computed and stored now, or None where it does not finish.

    The run of another spec that it begins with is computed first where the store lacks it, and does not count.
    """
    from lnlab.app.compute import plan_here
    from lnlab.app.rounds.sources import compute_sources, with_weights
    from lnlab.app.rounds.units import RunOptions
    from lnlab.consoles import stderr_console

    speed = machine_speed()
    seconds: Mapping[str, float] = Pace(speed, 1.0, "").unit_seconds(units, known)
    middle_unit = sorted(units, key=lambda unit: seconds[unit.key])[len(units) // 2]
    options = RunOptions(1, retry_failed=False, quiet=True, save_every=SAVE_EVERY, console=stderr_console())
    compute_sources(store, plan, [middle_unit], request, known, options, ThisMachine(1))
    (unit,) = plan_here(with_weights(store, plan, [middle_unit]), known, 1).units
    events: list[Event] = []
    sweep(
        [unit], store.open_unit, RegistryLoader(request.plugins), roots=request.roots, workers=1, on_event=events.append
    )
    taken = [event.answer.seconds for event in events if event.kind == "finished" and event.answer is not None]
    return Pace(speed, taken[0] / seconds[unit.key], "from one measured just now") if taken else None
