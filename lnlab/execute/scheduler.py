"""Hand out units to workers, longest first and never more than they can be at soon, until all have ended.

A worker that dies takes only its unit with it, and the unit is handed out again. A unit that has killed three workers
has failed. If the pool itself breaks, a new one goes on with the units that have no record.
"""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from lnlab.compile.work import Trajectory
from lnlab.errors import StoreError
from lnlab.execute.executor import WorkerDied
from lnlab.execute.interrupts import Stops, counting_stops, exit_name, signal_name
from lnlab.execute.pool import Workers, cores
from lnlab.execute.progress import InFlightUnit, OnEvent, ProgressReporter, SweepSummary
from lnlab.execute.queue import Queue
from lnlab.execute.unit import (
    BUSY,
    CORPUS,
    SAVE_EVERY,
    SHOW_EVERY,
    STORE,
    Answer,
    Assignment,
    LoadRegistries,
    OpenUnit,
    ignore_event,
)
from lnlab.execute.worker import outcome, prepare, work
from lnlab.issues import Issue
from lnlab.keys import canonical
from lnlab.registry import Roots
from lnlab.tables import LivePoint

DEATHS = 3
"""A unit that has killed this many workers has failed."""

PATIENCE = 10.0
"""Seconds in which no worker could be started, after which none is waited for any more."""

TICK = 0.1
"""Seconds between two checks for requests to stop and for units that another process holds."""

_BROKEN = (BrokenProcessPool, CancelledError, RuntimeError)


def sweep(
    units: Sequence[Trajectory],
    open_unit: OpenUnit,
    load: LoadRegistries,
    *,
    roots: Roots = (),
    workers: int | None = None,
    costs: Mapping[str, float] | None = None,
    save_every: float = SAVE_EVERY,
    on_event: OnEvent = ignore_event,
    live: Callable[[str], LivePoint | None] | None = None,
    gpus: Sequence[str] = (),
) -> SweepSummary:
    """Do all units, in worker processes of this machine.

    Args:
        units: trajectories with only the measurements that they lack.
        open_unit: the store's.
        load: brings the registries into a worker.
        roots: folders that are searched for data.
        workers: the number of processes. The default is one per core.
        costs: key -> cost, in any unit. The costliest unit is handed out first.
        save_every: seconds of training between two saved states.
        on_event: called with every event, in this thread.
        live: key -> the last known point of a unit's training. None means that these are not reported.
        gpus: the one that each worker sees, as CUDA names it. If empty, all workers see every GPU.

    Raises:
        CorpusError: a corpus is absent or damaged. As a rule this is raised before any unit is handed out.
        StoreError: the store cannot be written. Committed rows stay.
    """
    if not units:
        return SweepSummary()
    assignments = {
        unit.key: Assignment(trajectory=unit, open_unit=open_unit, load=load, roots=roots, save_every=save_every)
        for unit in units
    }
    count = min(workers or cores(), len(units))
    with counting_stops() as stops:
        reporter = ProgressReporter(len(units), count, on_event)
        pool = Workers(count, gpus=gpus)
        scheduler = _Scheduler(
            assignments=assignments,
            queue=Queue.of(units, costs or {}),
            workers=pool,
            reporter=reporter,
            stops=stops,
            live=live,
        )
        try:
            scheduler.prepare()
            scheduler.run()
        finally:
            pool.stop()
    return reporter.summary


@dataclass
class _Scheduler:
    """A sweep in progress: which worker holds which unit, and what waits.

    Attributes:
        in_flight: by future the unit that a worker has.
        deaths: by key how many workers died of a unit.
        broken_since: since when no worker could be started, None while they can.
        fatal: the first answer that concerns every unit: an absent corpus, or a store that cannot be written.
    """

    assignments: Mapping[str, Assignment]
    queue: Queue
    workers: Workers
    reporter: ProgressReporter
    stops: Stops
    live: Callable[[str], LivePoint | None] | None = None
    in_flight: dict[Any, InFlightUnit] = field(default_factory=dict)
    deaths: Counter[str] = field(default_factory=Counter)
    broken_since: float | None = None
    fatal: Answer | None = None
    _terminated: bool = False
    _looked_at: float = 0.0

    def prepare(self) -> None:
        """Have every distinct corpus read before any work, at once in as many workers as there are."""
        self.reporter.report("preparing")
        assignments = self.assignments.values()
        distinct = list({canonical(a.trajectory.setting["task"]): a for a in assignments}.values())
        count = self.workers.count
        futures = {
            self.workers.submit(prepare, distinct[n % len(distinct)], worker=n % count + 1)
            for n in range(max(len(distinct), count))
        }
        while futures and not self.stops.count:
            done, futures = wait(futures, TICK, FIRST_COMPLETED)
            for future in done:
                with suppress(WorkerDied, *_BROKEN):
                    future.result().raise_if_fatal()
        self.reporter.begin()

    def run(self) -> None:
        """Work until every unit has ended, or a signal or a fatal answer stops the sweep."""
        while self.in_flight or (self.queue and not self._stopping):
            self._dispatch()
            if self.in_flight:
                for future in wait(self.in_flight, TICK, FIRST_COMPLETED).done:
                    self._handle_result(future, self.in_flight.pop(future))
                self._report_steps()
            elif self.queue:
                time.sleep(min(TICK, self.queue.wait_time()))
            self._handle_stop_requests()
        self._handle_stop_requests()
        if self.fatal is not None:
            self.fatal.raise_if_fatal()

    def _report_steps(self) -> None:
        """Report where the units at work are, once a second."""
        if self.live is None or time.monotonic() - self._looked_at < SHOW_EVERY:
            return
        self._looked_at = time.monotonic()
        for flight in self.in_flight.values():
            point = self.live(flight.unit.key) if flight.unit.steps else None
            if point is not None:
                self.reporter.training(flight, point)

    @property
    def _stopping(self) -> bool:
        return bool(self.stops.count) or self.fatal is not None

    def _handle_stop_requests(self) -> None:
        """Act on requests to stop: report them, have the workers end early where time is short, or kill them."""
        if self.stops.count and (self.queue or self.stops.urgent):
            self.reporter.stopping(self.stops.first)
        if self.stops.urgent and not self._terminated:
            self._terminated = True
            self.workers.terminate()
        if self.stops.count > 1 and self.in_flight:  # what the workers hold is recorded as interrupted
            self.reporter.stopping(self.stops.first)
            self.workers.stop()
            for flight in self.in_flight.values():
                answer = self._record(flight.unit, "interrupted", f"stopped by {signal_name(self.stops.first)}")
                if answer.status == "interrupted":
                    self.reporter.ended(flight, answer)
            self.in_flight.clear()

    def _dispatch(self) -> None:
        """Hand a unit to every idle worker. Once the sweep is stopping, hand out none."""
        busy = {flight.slot for flight in self.in_flight.values()}
        for number in range(1, self.workers.count + 1):
            if number in busy or self._stopping or (unit := self.queue.next()) is None:
                continue
            flight = InFlightUnit(unit, number, self.queue.cost(unit))
            future = self.workers.submit(work, self.assignments[unit.key], worker=number)
            self.in_flight[future] = flight
            self.reporter.report("started", flight)

    def _handle_result(self, future: Any, flight: InFlightUnit) -> None:
        """Take in the answer of a unit that was handed out."""
        try:
            answer: Answer = future.result()
        except WorkerDied as died:
            self.deaths[flight.unit.key] += 1
            cause = f"its worker died ({exit_name(died.exitcode)})"
            answer = Answer(flight.unit.key, BUSY, cause)
            if self.deaths[flight.unit.key] == DEATHS:
                answer = self._record(flight.unit, "failed", f"{DEATHS} times {cause}")
        except _BROKEN as broken:
            answer = Answer(flight.unit.key, BUSY, "the pool of workers broke")
            self.broken_since = self.broken_since or time.monotonic()
            if time.monotonic() - self.broken_since > PATIENCE and not self._stopping:
                remedy = "allow more processes, open files or memory (ulimit -a); what is finished is kept"
                problem = Issue("failed", "lnlab", f"no worker can be started: {broken}", remedy)
                answer = replace(answer, status=STORE, problems=(problem,))
        else:
            self.broken_since = None
        if answer.status == BUSY:
            self.queue.put_back(flight.unit)
            self.reporter.report("returned", flight, answer)
        elif answer.status in (STORE, CORPUS):
            self.fatal = self.fatal or answer
        else:
            self.reporter.ended(flight, answer)

    def _record(self, unit: Trajectory, status: str, reason: str) -> Answer:
        """Record the end of a unit whose worker is dead, and with it the process that held the lease."""
        try:
            writer = self.assignments[unit.key].open_unit(unit.key)
            if writer is not None:
                writer.missing([m.key for m in unit.measurements])
                resumed = writer.resume(unit.steps) if unit.steps else None  # its segments in order, the last one's
                reached = resumed.step if resumed else 0
                writer.commit([], outcome(unit, status, reason, steps=reached) | {"seconds": 0.0})
        except StoreError as error:
            return Answer(unit.key, STORE, problems=error.issues)
        return Answer(unit.key, status, reason)
