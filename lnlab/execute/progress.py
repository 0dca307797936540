"""How far a sweep is, and how it tells its reader."""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from lnlab.compile.work import Trajectory
from lnlab.execute.interrupts import signal_name
from lnlab.execute.unit import Answer, Event

OnEvent = Callable[[Event], None]


@dataclass(frozen=True)
class Flight:
    """A unit in the hands of a worker; ``slot`` is the worker's number, ``cost`` the unit's share of the total."""

    unit: Trajectory
    slot: int
    cost: float


@dataclass
class Tally:
    """How a sweep ended.

    Attributes:
        ended: status -> number of units.
        problems: (key, status, one line) of each unit that did not finish.
        interrupted: the signal that ended it before all units had, or 0.
        seconds: from the first unit handed out to the last answer.
        busy: share of the workers' time that was spent on units.
    """

    ended: Counter[str] = field(default_factory=Counter)
    problems: list[tuple[str, str, str]] = field(default_factory=list)
    interrupted: int = 0
    seconds: float = 0.0
    busy: float = 0.0


@dataclass
class Teller:
    """Keeps the tally of ``total`` units on ``workers`` workers, and tells of each change."""

    total: int
    workers: int
    on_event: OnEvent
    tally: Tally = field(default_factory=Tally)
    clock: Callable[[], float] = time.monotonic
    begun: float = 0.0
    worked: float = 0.0

    def begin(self) -> None:
        """The first unit is about to be handed out."""
        self.begun = self.clock()

    def ended(self, flight: Flight, answer: Answer) -> None:
        """Count a unit that has ended, and tell of it."""
        finished = answer.status == "finished"
        self.tally.ended[answer.status] += 1
        self.worked += answer.seconds
        if not finished:
            self.tally.problems.append((answer.key, answer.status, answer.text))
        self.tell("finished" if finished else "failed", flight, answer)

    def stopping(self, number: int) -> None:
        """A signal has asked to stop: say so, the first time."""
        if not self.tally.interrupted:
            self.tally.interrupted = number
            self.tell("stopping", text=signal_name(number))

    def tell(self, kind: str, flight: Flight | None = None, answer: Answer | None = None, text: str = "") -> None:
        """Tell the reader."""
        self.tally.seconds = self.clock() - self.begun if self.begun else 0.0
        self.tally.busy = min(1.0, self.worked / (self.workers * self.tally.seconds or 1.0))
        self.on_event(
            Event(
                kind,
                worker=f"worker {flight.slot}" if flight else "",
                unit=flight.unit.key if flight else "",
                status=answer.status if answer else "",
                text=answer.text if answer else text,
                seconds=answer.seconds if answer else 0.0,
                cost=flight.cost if flight else 0.0,
                done=self.tally.ended.total(),
                total=self.total,
                busy=self.tally.busy,
            )
        )
