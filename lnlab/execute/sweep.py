"""Hand out units to local workers, longest first and never more than there are workers, until all have ended.

A worker that dies takes only its unit with it, and the unit is handed out again; one that has killed three workers has
failed. If the pool itself breaks, a new one goes on with what has no record.
"""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass, field, replace
from signal import Signals
from typing import Any

from pebble import ProcessExpired, ProcessPool

from lnlab.compile.work import Trajectory
from lnlab.errors import CorpusError, StoreError
from lnlab.execute.pool import cores, open_pool
from lnlab.execute.queue import Queue
from lnlab.execute.stopping import Presses, counting_interrupts
from lnlab.execute.unit import BUSY, CORPUS, STORE, Answer, Assignment, Event, Load, OpenUnit, ignore
from lnlab.execute.worker import outcome, prepare, work
from lnlab.keys import canonical
from lnlab.registry import Roots

DEATHS = 3
"""A unit that has killed this many workers has failed."""

TICK = 0.1
"""Seconds between looks at Ctrl-C and at units that another process holds."""

OnEvent = Callable[[Event], None]


@dataclass
class Tally:
    """How a sweep ended.

    Attributes:
        ended: status -> number of units.
        problems: (key, status, one line) of each unit that did not finish.
        interrupted: whether Ctrl-C ended it before all units had.
        seconds: from the first unit handed out to the last answer.
        busy: share of the workers' time that was spent on units.
    """

    ended: Counter[str] = field(default_factory=Counter)
    problems: list[tuple[str, str, str]] = field(default_factory=list)
    interrupted: bool = False
    seconds: float = 0.0
    busy: float = 0.0


@dataclass(frozen=True)
class Flight:
    """A unit in the hands of a worker."""

    unit: Trajectory
    slot: int


def sweep(
    units: Sequence[Trajectory],
    open_unit: OpenUnit,
    load: Load,
    *,
    roots: Roots = (),
    workers: int | None = None,
    costs: Mapping[str, float] | None = None,
    timeout: float | None = None,
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
        on_event: told what happens; called in this thread.

    Raises:
        CorpusError: a corpus is absent or damaged; nothing was handed out, or nothing more.
        StoreError: the store cannot be written; what was committed before is kept.
    """
    if not units:
        return Tally()
    count = min(workers or cores(), len(units))
    make = [Assignment(unit, open_unit, load, roots) for unit in units]
    with counting_interrupts() as presses:
        running = _Sweep(make, count, Queue.of(units, costs or {}), timeout, on_event, presses)
        try:
            running.prepare()
            running.run()
        finally:
            running.close()
    return running.tally


@dataclass
class _Sweep:
    make: list[Assignment]
    workers: int
    queue: Queue
    timeout: float | None
    on_event: OnEvent
    presses: Presses
    tally: Tally = field(default_factory=Tally)
    flying: dict[Any, Flight] = field(default_factory=dict)
    deaths: Counter[str] = field(default_factory=Counter)
    refused: Answer | None = None
    pool: ProcessPool = field(init=False)
    begun: float = field(default_factory=time.monotonic)
    worked: float = 0.0

    def __post_init__(self) -> None:
        self.pool = open_pool(self.workers)
        self.assignments = {each.trajectory.key: each for each in self.make}
        self.total = len(self.make)
        self.told = 0

    def prepare(self) -> None:
        """Have every distinct corpus read before any work, in as many workers as there are.

        Raises:
            CorpusError: one is absent or damaged.
        """
        self.tell("preparing")
        distinct = list({canonical(each.trajectory.setting["task"]): each for each in self.make}.values())
        every = [distinct[n % len(distinct)] for n in range(max(len(distinct), self.workers))]
        futures = {self.submit(prepare, each) for each in every}
        while futures and not self.presses.count:
            done, futures = wait(futures, TICK, FIRST_COMPLETED)
            for future in done:
                with suppress(ProcessExpired, BrokenProcessPool, CancelledError, RuntimeError):
                    self.raise_if_refused(future.result())
        self.begun = time.monotonic()

    def run(self) -> None:
        """Until every unit has ended, or the user or the store says stop.

        Raises:
            StoreError, CorpusError: as ``sweep``.
        """
        while self.flying or (self.queue and not self.stopping):
            self.hand_out()
            if not self.flying:
                time.sleep(min(TICK, self.queue.rest()))
                continue
            for future in wait(self.flying, TICK, FIRST_COMPLETED).done:
                self.settle(future, self.flying.pop(future))
            if self.presses.count and not self.tally.interrupted:
                self.tally.interrupted = True
                self.tell("stopping")
            if self.presses.count > 1:
                self.stop_now()
        self.tally.interrupted = bool(self.presses.count) and self.tally.ended.total() < self.total
        if self.refused is not None:
            self.raise_if_refused(self.refused)

    @property
    def stopping(self) -> bool:
        return bool(self.presses.count) or self.refused is not None

    def hand_out(self) -> None:
        """A unit to every idle worker."""
        free = sorted(set(range(1, self.workers + 1)) - {flight.slot for flight in self.flying.values()})
        while free and not self.stopping and (unit := self.queue.next()):
            flight = Flight(unit, free.pop(0))
            assignment = replace(self.assignments[unit.key], trajectory=unit)
            self.flying[self.submit(work, assignment, self.timeout)] = flight
            self.tell("started", flight)

    def submit(self, task: Callable[[Assignment], Answer], given: Assignment, timeout: float | None = None) -> Any:
        """Hand out; to a new pool if this one is broken."""
        try:
            return self.pool.schedule(task, args=[given], timeout=timeout)
        except (RuntimeError, BrokenProcessPool):
            self.close()
            self.pool = open_pool(self.workers)
            return self.pool.schedule(task, args=[given], timeout=timeout)

    def settle(self, future: Any, flight: Flight) -> None:
        """What became of a unit that was handed out."""
        try:
            answer: Answer = future.result()
        except TimeoutError:
            answer = self.record(flight.unit, "timed_out", f"stopped after {self.timeout:g} s", self.timeout or 0.0)
        except ProcessExpired as death:
            self.deaths[flight.unit.key] += 1
            if self.deaths[flight.unit.key] < DEATHS:
                self.hand_back(flight, f"its worker died ({cause_of(death.exitcode)})")
                return
            answer = self.record(flight.unit, "failed", f"killed {DEATHS} workers ({cause_of(death.exitcode)})")
        except (BrokenProcessPool, CancelledError, RuntimeError):
            self.hand_back(flight, "the pool of workers broke")
            return
        if answer.status == BUSY:
            self.hand_back(flight, answer.text, self.queue.DELAY)
        elif answer.status in (STORE, CORPUS):
            self.refused = self.refused or answer
        else:
            self.count(flight, answer)

    def count(self, flight: Flight, answer: Answer) -> None:
        """A unit has ended."""
        self.tally.ended[answer.status] += 1
        self.worked += answer.seconds
        if answer.status != "finished":
            self.tally.problems.append((answer.key, answer.status, answer.text))
        self.tell("finished" if answer.status == "finished" else "failed", flight, answer)

    def hand_back(self, flight: Flight, text: str, delay: float = 0.0) -> None:
        """The unit will be handed out again."""
        self.queue.put_back(flight.unit, delay)
        self.tell("returned", flight, Answer(flight.unit.key, "", text))

    def record(self, unit: Trajectory, status: str, reason: str, seconds: float = 0.0) -> Answer:
        """Record the end of a unit whose worker can no longer do so; its lease is a dead process's."""
        try:
            opened = self.assignments[unit.key].open_unit(unit.key)
            if opened is not None:
                opened.missing([each.key for each in unit.measurements])
                opened.commit([], outcome(unit, status, reason) | {"seconds": seconds})
        except StoreError as error:
            return Answer(unit.key, STORE, problems=error.problems)
        return Answer(unit.key, status, reason, seconds)

    def stop_now(self) -> None:
        """End the workers where they are; what they held is recorded as interrupted."""
        self.pool.stop()
        self.pool.join()
        for flight in self.flying.values():
            answer = self.record(flight.unit, "interrupted", "stopped by Ctrl-C")
            if answer.status == "interrupted":
                self.count(flight, answer)
        self.flying.clear()

    def raise_if_refused(self, answer: Answer) -> None:
        """An absent corpus and a store that refuses concern every unit: said once."""
        if answer.status == CORPUS:
            raise CorpusError(*answer.problems)
        if answer.status == STORE:
            raise StoreError(*answer.problems)

    def close(self) -> None:
        """Let the workers go, whatever they do."""
        self.pool.stop()
        self.pool.join()

    def tell(self, kind: str, flight: Flight | None = None, answer: Answer | None = None) -> None:
        """Tell the reader."""
        self.tally.seconds = time.monotonic() - self.begun
        self.tally.busy = min(1.0, self.worked / (self.workers * self.tally.seconds or 1.0))
        self.on_event(
            Event(
                kind,
                worker=f"worker {flight.slot}" if flight else "",
                unit=flight.unit.key if flight else "",
                status=answer.status if answer else "",
                text=answer.text if answer else "",
                seconds=answer.seconds if answer else 0.0,
                cost=self.queue.cost(flight.unit) if flight else 0.0,
                done=self.tally.ended.total(),
                total=self.total,
                busy=self.tally.busy,
            )
        )


def cause_of(code: int | None) -> str:
    """An exit code in words: the name of the signal, or the number."""
    if code is not None and code < 0:
        with suppress(ValueError):
            return Signals(-code).name
    return f"exit code {code}"
