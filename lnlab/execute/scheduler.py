"""Hand out units to local workers, longest first and never more than there are workers, until all have ended.

A worker that dies takes only its unit with it, and the unit is handed out again; one that has killed three workers has
failed. If the pool itself breaks, a new one goes on with what has no record.
"""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass, field
from signal import Signals
from typing import Any

from pebble import ProcessExpired

from lnlab.compile.work import Trajectory
from lnlab.errors import CorpusError, StoreError
from lnlab.execute.interrupts import Stops, counting_stops, signal_name
from lnlab.execute.pool import Workers, cores
from lnlab.execute.progress import Flight, OnEvent, Tally, Teller
from lnlab.execute.queue import DELAY, Queue
from lnlab.execute.unit import BUSY, CORPUS, SAVE_EVERY, STORE, Answer, Assignment, Load, OpenUnit, ignore
from lnlab.execute.worker import outcome, prepare, work
from lnlab.keys import canonical
from lnlab.registry import Roots

DEATHS = 3
"""A unit that has killed this many workers has failed."""

TICK = 0.1
"""Seconds between looks at requests to stop and at units that another process holds."""

_BROKEN = (BrokenProcessPool, CancelledError, RuntimeError)


def sweep(
    units: Sequence[Trajectory],
    open_unit: OpenUnit,
    load: Load,
    *,
    roots: Roots = (),
    workers: int | None = None,
    costs: Mapping[str, float] | None = None,
    timeout: float | None = None,
    save_every: float = SAVE_EVERY,
    on_event: OnEvent = ignore,
) -> Tally:
    """Do all units on this machine.

    Args:
        units: trajectories with only the measurements that they lack.
        open_unit: the store's.
        load: brings the registries into a worker.
        roots: where data are looked for.
        workers: processes; as many as cores by default.
        costs: key -> cost, in any unit: the dearest is handed out first.
        timeout: seconds after which a unit is stopped.
        save_every: seconds of training between two kept states.
        on_event: told what happens, in this thread.

    Raises:
        CorpusError: a corpus is absent or damaged; before any unit is handed out, as a rule.
        StoreError: the store cannot be written; what was committed before is kept.
    """
    if not units:
        return Tally()
    assignments = {unit.key: Assignment(unit, open_unit, load, roots, save_every) for unit in units}
    count = min(workers or cores(), len(units))
    with counting_stops() as stops:
        teller = Teller(len(units), count, on_event)
        hall = _Hall(assignments, Queue.of(units, costs or {}), Workers(count), teller, stops, timeout)
        try:
            hall.prepare()
            hall.run()
        finally:
            hall.workers.stop()
    return teller.tally


@dataclass
class _Hall:
    """A sweep in progress: who holds which unit."""

    assignments: Mapping[str, Assignment]
    queue: Queue
    workers: Workers
    teller: Teller
    stops: Stops
    timeout: float | None
    flying: dict[Any, Flight] = field(default_factory=dict)
    deaths: Counter[str] = field(default_factory=Counter)
    refused: Answer | None = None
    _hurried: bool = False

    def prepare(self) -> None:
        """Have every distinct corpus read before any work, at once in as many workers as there are."""
        self.teller.tell("preparing")
        every = self.assignments.values()
        distinct = list({canonical(each.trajectory.setting["task"]): each for each in every}.values())
        rounds = max(len(distinct), self.workers.count)
        futures = {self.workers.submit(prepare, distinct[n % len(distinct)]) for n in range(rounds)}
        while futures and not self.stops.count:
            done, futures = wait(futures, TICK, FIRST_COMPLETED)
            for future in done:
                with suppress(ProcessExpired, *_BROKEN):
                    _raise_if_refused(future.result())
        self.teller.begin()

    def run(self) -> None:
        """Until every unit has ended, or the user or the store says stop."""
        while self.flying or (self.queue and not self._stopping):
            self._hand_out()
            if self.flying:
                for future in wait(self.flying, TICK, FIRST_COMPLETED).done:
                    self._settle(future, self.flying.pop(future))
            elif self.queue:
                time.sleep(min(TICK, self.queue.rest()))
            self._heed()
        self._heed()
        if self.refused is not None:
            _raise_if_refused(self.refused)

    @property
    def _stopping(self) -> bool:
        return bool(self.stops.count) or self.refused is not None

    def _heed(self) -> None:
        """Do what a request to stop asks: say so, hurry the workers where time is short, or end them."""
        if self.stops.count and (self.queue or self.stops.urgent):
            self.teller.stopping(self.stops.first)
        if self.stops.urgent and not self._hurried:
            self._hurried = True
            self.workers.hurry()
        if self.stops.count > 1 and self.flying:
            self._stop_now()

    def _hand_out(self) -> None:
        """A unit to every idle worker; none once somebody says stop."""
        free = sorted({*range(1, self.workers.count + 1)} - {flight.slot for flight in self.flying.values()})
        while free and not self._stopping and (unit := self.queue.next()):
            flight = Flight(unit, free.pop(0), self.queue.cost(unit))
            self.flying[self.workers.submit(work, self.assignments[unit.key], self.timeout)] = flight
            self.teller.tell("started", flight)

    def _settle(self, future: Any, flight: Flight) -> None:
        """What became of a unit that was handed out."""
        try:
            answer: Answer = future.result()
        except TimeoutError:
            reason = f"stopped after {self.timeout:g} s"
            answer = self._record(flight.unit, "timed_out", reason, self.timeout or 0.0)
        except ProcessExpired as death:
            answer = self._bury(flight, f"its worker died ({cause_of(death.exitcode)})")
        except _BROKEN:
            answer = Answer(flight.unit.key, BUSY, "the pool of workers broke")
        if answer.status == BUSY:
            self.queue.put_back(flight.unit, DELAY)
            self.teller.tell("returned", flight, answer)
        elif answer.status in (STORE, CORPUS):
            self.refused = self.refused or answer
        else:
            self.teller.ended(flight, answer)

    def _bury(self, flight: Flight, death: str) -> Answer:
        """A worker died of this unit: it is handed out again, or has failed."""
        self.deaths[flight.unit.key] += 1
        if self.deaths[flight.unit.key] < DEATHS:
            return Answer(flight.unit.key, BUSY, death)
        return self._record(flight.unit, "failed", f"{DEATHS} times {death}")

    def _record(self, unit: Trajectory, status: str, reason: str, seconds: float = 0.0) -> Answer:
        """Record the end of a unit whose worker no longer can; the lease there is a dead process's."""
        try:
            opened = self.assignments[unit.key].open_unit(unit.key)
            if opened is not None:
                opened.missing([each.key for each in unit.measurements])
                resumed = opened.resume(unit.steps) if unit.steps else None  # the last of its stretches, in their order
                reached = resumed.step if resumed else 0
                opened.commit([], outcome(unit, status, reason, steps=reached) | {"seconds": seconds})
        except StoreError as error:
            return Answer(unit.key, STORE, problems=error.problems)
        return Answer(unit.key, status, reason, seconds)

    def _stop_now(self) -> None:
        """End the workers where they are; what they held is recorded as interrupted."""
        self.teller.stopping(self.stops.first)
        self.workers.stop()
        for flight in self.flying.values():
            answer = self._record(flight.unit, "interrupted", f"stopped by {signal_name(self.stops.first)}")
            if answer.status == "interrupted":
                self.teller.ended(flight, answer)
        self.flying.clear()


def _raise_if_refused(answer: Answer) -> None:
    """An absent corpus and a store that refuses concern every unit: said once."""
    if answer.status == CORPUS:
        raise CorpusError(*answer.problems)
    if answer.status == STORE:
        raise StoreError(*answer.problems)


def cause_of(code: int | None) -> str:
    """An exit code in words: the name of the signal, or the number."""
    if code is not None and code < 0:
        with suppress(ValueError):
            return Signals(-code).name
    return f"exit code {code}"
