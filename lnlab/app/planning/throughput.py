"""How fast this machine is: FLOPs a second of units that the store has, or of one measured now.

    seconds of a plan = sum of its units' FLOPs / (median FLOPs a second of units of that size) / workers

Small units are slower per FLOP than large ones, and training is slower than measuring, so only units of about the same
size say anything, and of units that train only those that trained.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from statistics import median
from typing import TYPE_CHECKING

from lnlab.app.rounds.units import unit_flops
from lnlab.compile.cost.cost import cost, machine_memory
from lnlab.compile.cost.memory import plan_memory
from lnlab.compile.work import Measurement, Trajectory
from lnlab.errors import StoreError
from lnlab.execute.registry_loader import RegistryLoader
from lnlab.execute.scheduler import sweep
from lnlab.execute.unit import Event
from lnlab.registry import Flawed
from lnlab.store.plans import plans_newest_first
from lnlab.store.store import Store
from lnlab.tables import Results

if TYPE_CHECKING:
    from lnlab.app.request import Registries, Request

RECENT_PLANS = 5
"""How many of the plans used last are read."""
_SAME_SIZE = 4.0
"""Units whose FLOPs differ by no more than this factor are of one size."""


@dataclass(frozen=True)
class Throughput:
    """FLOPs a second of one worker, and where the figure comes from, in words."""

    flops: float
    source: str

    def seconds(self, units: Sequence[Trajectory], known: "Registries", workers: int) -> float:
        """How long these units take on so many workers."""
        costs = unit_flops(units, known).values()
        return max(sum(costs) / min(workers, len(costs)), *costs) / self.flops if costs else 0.0


def past_throughput(store: Store, units: Sequence[Trajectory], known: "Registries") -> Throughput | None:
    """The rate of the units of this size that the store has; None where it has none.

    If any of these units trains, that of units that trained, as training takes most of the time.
    """
    if not units:
        return None
    training = any(unit.steps for unit in units)
    size = median(unit_flops([unit for unit in units if bool(unit.steps) == training], known).values())
    rates: dict[str, float] = {}
    for results in islice(_past_results(store), RECENT_PLANS):
        finished = _finished_units(results, known, training=training)
        similar = (unit for unit in finished if size / _SAME_SIZE <= unit[1] <= size * _SAME_SIZE)
        rates |= {key: flops / seconds for key, flops, seconds in similar if flops}
    suffix = " that trained" if training else ""
    source = f"from {len(rates):,} of about this size{suffix} that this store already holds"
    return Throughput(median(rates.values()), source) if rates else None


def _past_results(store: Store) -> Iterator[Results]:
    """The results of the plans of a store, those used last first."""
    for stored in plans_newest_first(store.root):
        try:
            yield store.results(stored.digest)
        except StoreError:  # a damaged plan says nothing about speed
            continue


def _finished_units(results: Results, known: "Registries", *, training: bool) -> Iterator[tuple[str, float, float]]:
    """Key, FLOPs and seconds of each finished trajectory that trained (or did not) and whose pieces are known."""
    needs: dict[str, list[Measurement]] = {}
    for run, step, probe, key in results.tables["needs"].select("run", "step", "probe", "measurement").iter_rows():
        needs.setdefault(run, []).append(Measurement(key, step, json.loads(probe)))
    finished = results.runs.filter((results.runs["status"] == "finished") & (results.runs["seconds"] > 0))
    finished = finished.filter((finished["steps"] > 0) == training)
    for run, key, setting, seconds in finished.select("run", "trajectory", "setting", "seconds").iter_rows():
        try:
            yield key, cost(json.loads(setting), needs.get(run, []), known).flops, seconds
        except (Flawed, LookupError, ValueError):  # a plugin's that is not given here, or as an older lnlab knew it
            continue


def measured_throughput(
    store: Store, request: "Request", units: Sequence[Trajectory], known: "Registries"
) -> Throughput | None:
    """Compute one unit of median size, store its rows, and measure the rate on it; None where it does not finish.

    A unit that begins with another run's state is none to measure on: that run may be missing, too.
    """
    units = [unit for unit in units if unit.origin is None]  # of others the weights may be missing, too
    if not units:
        return None
    units = [unit for unit in units if unit.origin is None]
    if not units:
        return None
    costs = unit_flops(units, known)
    middle_unit = sorted(units, key=lambda unit: costs[unit.key])[len(units) // 2]
    (unit,) = plan_memory([middle_unit], known, 1, machine_memory()).units
    events: list[Event] = []
    sweep(
        [unit], store.open_unit, RegistryLoader(request.plugins), roots=request.roots, workers=1, on_event=events.append
    )
    seconds = [event.seconds for event in events if event.kind == "finished"]
    flops = unit_flops([unit], known)[unit.key]
    return Throughput(flops / seconds[0], "from one measured just now") if seconds and flops else None
