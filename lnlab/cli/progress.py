"""What a long run shows while it works: bars on a terminal, a plain line every few seconds anywhere else.

The clock is the plan's: each unit advances the overall bar by its cost, so that the time left is right although units
differ in size.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from lnlab.cli.terminal import count, duration, err

SECONDS_BETWEEN_LINES = 5.0


class Display(Protocol):
    """What an executor tells its reader. ``worker`` is any name that stays with one worker."""

    def begins(self, worker: str, unit: str) -> None:
        """``worker`` begins with ``unit``, described in words."""

    def ends(self, worker: str, status: str, cost: float) -> None:
        """The unit of ``worker`` has ended; ``cost`` is its share of the total."""


@dataclass
class Tally:
    """How far a run is: units and cost done, and how the units ended."""

    units: int
    cost: float
    ended: Counter[str] = field(default_factory=Counter)
    spent: float = 0.0
    clock: Callable[[], float] = time.monotonic
    since: float = field(init=False)

    def __post_init__(self) -> None:
        self.since = self.clock()

    def add(self, status: str, cost: float) -> None:
        """One more unit has ended."""
        self.ended[status] += 1
        self.spent += cost

    @property
    def elapsed(self) -> float:
        """Seconds since the run began."""
        return self.clock() - self.since

    @property
    def left(self) -> float | None:
        """Seconds that the rest will take at the rate so far; None before anything has ended."""
        return self.elapsed * (self.cost - self.spent) / self.spent if self.spent else None

    def __str__(self) -> str:
        done = f"{self.ended.total()} of {count(self.units, 'unit')}"
        others = [f"{n} {status.replace('_', ' ')}" for status, n in sorted(self.ended.items()) if status != "finished"]
        return ", ".join([done, *others])


@dataclass
class Lines:
    """Plain lines, at most one every few seconds: for logs and pipes."""

    tally: Tally
    console: Console
    last: float = 0.0

    def begins(self, worker: str, unit: str) -> None:
        """Nothing: a line a unit would flood a log."""

    def ends(self, worker: str, status: str, cost: float) -> None:
        """Count the unit, and say so if the last line is old enough."""
        self.tally.add(status, cost)
        now, left = self.tally.elapsed, self.tally.left
        if now - self.last >= SECONDS_BETWEEN_LINES and left is not None:
            self.last = now
            self.console.print(f"{self.tally}; {duration(now)}, about {duration(left)} left")


@dataclass
class Bars:
    """An overall bar, and a line for each worker."""

    tally: Tally
    shown: Progress
    overall: TaskID
    lines: dict[str, TaskID] = field(default_factory=dict)

    def begins(self, worker: str, unit: str) -> None:
        """Show on the line of ``worker`` what it does."""
        if worker not in self.lines:
            self.lines[worker] = self.shown.add_task(unit, total=None)
        self.shown.reset(self.lines[worker], description=f"  {unit}", visible=True)

    def ends(self, worker: str, status: str, cost: float) -> None:
        """Advance the overall bar; the line of ``worker`` rests."""
        self.tally.add(status, cost)
        self.shown.update(self.overall, completed=self.tally.spent, description=str(self.tally))
        if worker in self.lines:
            self.shown.update(self.lines[worker], visible=False)


@dataclass
class Silent:
    """Nothing at all, for ``--quiet``."""

    def begins(self, worker: str, unit: str) -> None:
        """Say nothing."""

    def ends(self, worker: str, status: str, cost: float) -> None:
        """Say nothing."""


@contextmanager
def progress(units: int, cost: float, *, quiet: bool = False) -> Iterator[Display]:
    """The display that suits standard error, while the run lasts. ``cost`` is the sum over the units."""
    console = err()
    tally = Tally(units, max(cost, 1e-12))
    if quiet:
        yield Silent()
    elif not console.is_terminal:
        yield Lines(tally, console)
    else:
        columns = SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn()
        with Progress(*columns, console=console, speed_estimate_period=1e9, transient=True) as shown:
            yield Bars(tally, shown, shown.add_task(str(tally), total=tally.cost))
