"""How fast this machine is, from what it did: FLOPs and seconds of units that the store holds, or of one measured now.

seconds of a plan = sum of its units' FLOPs / rate / workers
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from lnlab.cli.work import costs_of
from lnlab.compile.cost import cost
from lnlab.compile.work import Measurement, Trajectory
from lnlab.execute.pieces import Pieces
from lnlab.execute.pool import cores
from lnlab.execute.sweep import sweep
from lnlab.execute.unit import Event
from lnlab.store.plans import Stored, newest_first
from lnlab.store.store import Store

if TYPE_CHECKING:
    from lnlab.cli.request import Registries, Request

PLANS = 5
"""How many of the plans used last are asked."""


@dataclass(frozen=True)
class Rate:
    """FLOPs a second of one worker, and how it is known, in words."""

    flops: float
    source: str

    def seconds(self, units: Iterable[Trajectory], known: "Registries", workers: int) -> float:
        """How long these units take on so many workers."""
        every = costs_of(list(units), known).values()
        return max(sum(every) / min(workers, len(every)), *every) / self.flops if every else 0.0


def past_rate(store: Store, known: "Registries") -> Rate | None:
    """The rate of the units that this store holds; None where it holds none."""
    done: dict[str, tuple[float, float]] = {}
    for stored in islice(newest_first(store.root), PLANS):
        done |= _done(store, stored, known)
    seconds = sum(seconds for _, seconds in done.values())
    if not seconds:
        return None
    said = f"from the {len(done):,} units that this store already holds"
    return Rate(sum(flops for flops, _ in done.values()) / seconds, said)


def _done(store: Store, stored: Stored, known: "Registries") -> dict[str, tuple[float, float]]:
    """FLOPs and seconds of each finished trajectory of a plan."""
    results = store.results(stored.digest)
    needs: dict[str, list[Measurement]] = {}
    for run, step, probe, key in results.tables["needs"].select("run", "step", "probe", "measurement").iter_rows():
        needs.setdefault(run, []).append(Measurement(key, step, json.loads(probe)))
    finished = results.runs.filter(results.runs["status"] == "finished").unique("trajectory", maintain_order=True)
    return {
        key: (cost(json.loads(setting), needs.get(run, []), known).flops, seconds)
        for run, key, setting, seconds in finished.select("run", "trajectory", "setting", "seconds").iter_rows()
    }


def measured_rate(store: Store, request: "Request", units: list[Trajectory], known: "Registries") -> Rate | None:
    """Do one unit of middle size, keep what it finds, and take the rate from it; None where it does not finish."""
    costs = costs_of(units, known)
    unit = sorted(units, key=lambda each: costs[each.key])[len(units) // 2]
    ends: list[Event] = []
    sweep([unit], store.open_unit, Pieces(request.plugins), roots=request.roots, workers=1, on_event=ends.append)
    seconds = [event.seconds for event in ends if event.kind == "finished"]
    return Rate(costs[unit.key] / seconds[0], "from one unit measured just now") if seconds else None


def workers_here(given: int | None) -> int:
    """How many workers a run would have."""
    return given or cores()
