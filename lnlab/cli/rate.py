"""How fast this machine is, from what it did: FLOPs and seconds of units that the store holds, or of one measured now.

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

from lnlab.cli.work import costs_of
from lnlab.compile.cost.cost import cost, machine_memory
from lnlab.compile.cost.memory import room
from lnlab.compile.work import Measurement, Trajectory
from lnlab.errors import StoreError
from lnlab.execute.registry_loader import Pieces
from lnlab.execute.scheduler import sweep
from lnlab.execute.unit import Event
from lnlab.registry import Flawed
from lnlab.store.plans import newest_first
from lnlab.store.store import Store
from lnlab.tables import Results

if TYPE_CHECKING:
    from lnlab.app.request import Registries, Request

PLANS = 5
"""How many of the plans used last are asked."""
_ALIKE = 4.0
"""Units whose FLOPs differ by no more than this factor are of one size."""


@dataclass(frozen=True)
class Rate:
    """FLOPs a second of one worker, and how it is known, in words."""

    flops: float
    source: str

    def seconds(self, units: Sequence[Trajectory], known: "Registries", workers: int) -> float:
        """How long these units take on so many workers."""
        every = costs_of(units, known).values()
        return max(sum(every) / min(workers, len(every)), *every) / self.flops if every else 0.0


def past_rate(store: Store, units: Sequence[Trajectory], known: "Registries") -> Rate | None:
    """The rate of the units of this size that the store holds; None where it holds none.

    If any of these units trains, that of units that trained, as training takes most of the time.
    """
    if not units:
        return None
    training = any(unit.steps for unit in units)
    size = median(costs_of([unit for unit in units if bool(unit.steps) == training], known).values())
    done: dict[str, float] = {}
    for results in islice(_past(store), PLANS):
        done_so = _done(results, known, training=training)
        alike = (each for each in done_so if size / _ALIKE <= each[1] <= size * _ALIKE)
        done |= {key: flops / seconds for key, flops, seconds in alike if flops}
    which = " that trained" if training else ""
    said = f"from {len(done):,} of about this size{which} that this store already holds"
    return Rate(median(done.values()), said) if done else None


def _past(store: Store) -> Iterator[Results]:
    """What the plans of a store found, those used last first."""
    for stored in newest_first(store.root):
        try:
            yield store.results(stored.digest)
        except StoreError:  # a damaged plan says nothing about speed
            continue


def _done(results: Results, known: "Registries", *, training: bool) -> Iterator[tuple[str, float, float]]:
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


def measured_rate(store: Store, request: "Request", units: Sequence[Trajectory], known: "Registries") -> Rate | None:
    """Do one unit of middle size, keep what it finds, and take the rate from it; None where it does not finish."""
    costs = costs_of(units, known)
    middle = sorted(units, key=lambda each: costs[each.key])[len(units) // 2]
    (unit,) = room([middle], known, 1, machine_memory()).units
    ends: list[Event] = []
    sweep([unit], store.open_unit, Pieces(request.plugins), roots=request.roots, workers=1, on_event=ends.append)
    seconds = [event.seconds for event in ends if event.kind == "finished"]
    flops = costs_of([unit], known)[unit.key]
    return Rate(flops / seconds[0], "from one measured just now") if seconds and flops else None
