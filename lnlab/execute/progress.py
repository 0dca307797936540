"""How far a sweep is, reported as events."""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from lnlab.compile.work import Trajectory
from lnlab.execute.interrupts import signal_name
from lnlab.execute.unit import Answer, Event
from lnlab.tables import LivePoint

OnEvent = Callable[[Event], None]


@dataclass(frozen=True)
class InFlightUnit:
    """A unit that a worker holds. ``slot`` is the worker's number, ``cost`` the unit's share of the total."""

    unit: Trajectory
    slot: int
    cost: float


@dataclass
class SweepSummary:
    """How a sweep ended.

    Attributes:
        ended: status -> number of units.
        problems: (key, status, one line) of each unit that did not finish.
        interrupted: the signal that ended it before all units had, or 0.
        seconds: from the first unit handed out to the last answer.
        busy: share of the workers' time that was spent on units.
        elsewhere: how many of the units that ended another process had computed.
    """

    ended: Counter[str] = field(default_factory=Counter)
    problems: list[tuple[str, str, str]] = field(default_factory=list)
    interrupted: int = 0
    seconds: float = 0.0
    busy: float = 0.0
    elsewhere: int = 0


@dataclass
class ProgressReporter:
    """Counts the ends of ``total`` units on ``workers`` workers, and reports each change as an event."""

    total: int
    workers: int
    on_event: OnEvent
    summary: SweepSummary = field(default_factory=SweepSummary)
    clock: Callable[[], float] = time.monotonic
    started_at: float = 0.0
    worker_seconds: float = 0.0

    def begin(self) -> None:
        """The first unit is about to be handed out."""
        self.started_at = self.clock()

    def ended(self, flight: InFlightUnit, answer: Answer) -> None:
        """Count a unit that has ended, and report it."""
        finished = answer.status == "finished"
        self.summary.ended[answer.status] += 1
        self.summary.elsewhere += answer.elsewhere
        self.worker_seconds += answer.seconds
        if not finished:
            self.summary.problems.append((answer.key, answer.status, answer.text))
        self.report("finished" if finished else "failed", flight, answer)

    def stopping(self, number: int) -> None:
        """A signal has asked to stop: report the first one."""
        if not self.summary.interrupted:
            self.summary.interrupted = number
            self.report("stopping", text=signal_name(number))

    def training(self, flight: InFlightUnit, point: LivePoint) -> None:
        """Report where a unit is."""
        self.on_event(
            Event(
                "training",
                worker=f"worker {flight.slot}",
                unit=flight.unit.key,
                cost=flight.cost,
                done=self.summary.ended.total(),
                total=self.total,
                busy=self.summary.busy,
                step=point.step,
                steps=flight.unit.steps,
                loss=point.loss,
            )
        )

    def report(
        self, kind: str, flight: InFlightUnit | None = None, answer: Answer | None = None, text: str = ""
    ) -> None:
        """Call ``on_event`` with an event of this kind and the totals so far."""
        self.summary.seconds = self.clock() - self.started_at if self.started_at else 0.0
        self.summary.busy = min(1.0, self.worker_seconds / (self.workers * self.summary.seconds or 1.0))
        self.on_event(
            Event(
                kind,
                worker=f"worker {flight.slot}" if flight else "",
                unit=flight.unit.key if flight else "",
                answer=answer,
                text=text,
                cost=flight.cost if flight else 0.0,
                done=self.summary.ended.total(),
                total=self.total,
                busy=self.summary.busy,
            )
        )
