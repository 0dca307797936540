"""The progress display of a run: bars on a terminal or in a notebook, a plain line every few seconds anywhere else.

Each unit advances the overall bar by its cost, so that the time left is right although units differ in size.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Column

from lnlab.app.formats import format_count, format_duration
from lnlab.consoles import NotebookBar, in_notebook

if TYPE_CHECKING:
    from lnlab.execute.unit import Event

    Show = Callable[[Event], None]

SECONDS_BETWEEN_LINES = 5.0
SECONDS_BETWEEN_STEPS = 30.0
"""Without a line, after which a log says where the units at work are."""
_MOST_UNITS = 8
"""Units at work that a log names at once."""
_ENDED = ("finished", "failed")
FINISHING_MESSAGE = "stopping: what has begun is finished and kept; Ctrl-C again stops at once"
CHECKPOINTING_MESSAGE = (
    "stopping on {}: training runs keep their state, other units are finished; a second {} stops at once"
)


def stopping_line(name: str) -> str:
    """The line that answers a signal."""
    return FINISHING_MESSAGE if name == "Ctrl-C" else CHECKPOINTING_MESSAGE.format(name, name)


@dataclass
class RunPace:
    """How far a run is: units and cost done, how the units ended, and where those at work are."""

    units: int
    cost: float
    clock: Callable[[], float] = time.monotonic
    ended: Counter[str] = field(default_factory=Counter)
    spent: float = 0.0
    training: dict[str, str] = field(default_factory=dict)
    _parts: dict[str, tuple[int, float]] = field(default_factory=dict)
    begun: bool = False
    since: float = field(init=False)

    def __post_init__(self) -> None:
        self.since = self.clock()

    def follow(self, event: "Event") -> None:
        """Count an event. The clock starts with the first unit, as reading corpora says nothing of the time left."""
        if event.kind == "started" and not self.begun:
            self.begun = True
            self.since = self.clock()
        if event.kind == "training":
            self.training[event.unit] = f"step {event.step:,} of {event.steps:,}, loss {event.loss:.4g}"
            # what is taken up again was not trained now: it counts once the unit has ended
            first, _ = self._parts.setdefault(event.unit, (event.step, 0.0))
            self._parts[event.unit] = first, event.cost * (event.step - first) / event.steps
        if event.kind in (*_ENDED, "returned"):
            self.training.pop(event.unit, None)
            self._parts.pop(event.unit, None)
        if event.kind in _ENDED and event.answer is not None:
            self.ended[event.answer.status] += 1
            self.spent += event.cost

    @property
    def elapsed(self) -> float:
        """Seconds since the first unit began."""
        return self.clock() - self.since

    @property
    def reached(self) -> float:
        """The cost of what has ended, and of the steps that units at work have made here."""
        return self.spent + sum(part for _, part in self._parts.values())

    @property
    def left(self) -> float | None:
        """Seconds left at the rate so far, or None before anything has ended or any step is known."""
        if not self.reached:
            return None
        # The costs of units add up to the whole but for rounding, so that what is left may come out below zero.
        return self.elapsed * max(self.cost - self.reached, 0.0) / self.reached

    def __str__(self) -> str:
        done = f"{self.ended.total()} of {format_count(self.units, 'unit')}"
        others = [f"{n} {status.replace('_', ' ')}" for status, n in sorted(self.ended.items()) if status != "finished"]
        return ", ".join([done, *others])


@dataclass
class LineReporter:
    """Plain lines, at most one every few seconds: for logs and pipes."""

    pace: RunPace
    console: Console
    last: float = 0.0
    names: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, event: "Event") -> None:
        """Count a unit that has ended, and print a line if the last one is old enough.

        Where no unit ends for long, print where those at work are.
        """
        self.pace.follow(event)
        if event.kind == "stopping":
            self.console.print(stopping_line(event.text))
        between = {"training": SECONDS_BETWEEN_STEPS} | dict.fromkeys(_ENDED, SECONDS_BETWEEN_LINES)
        now, left = self.pace.elapsed, self.pace.left
        if now - self.last < between.get(event.kind, inf):
            return
        if event.kind == "training":
            pace = f", about {format_duration(left)} left" if left is not None else ""
            shown = list(self.pace.training.items())[:_MOST_UNITS]
            lines = [f"  {self.names.get(unit, unit)}: {where}" for unit, where in shown]
            more = len(self.pace.training) - len(shown)
            text = [f"{self.pace}; {format_duration(now)}{pace}", *lines, *([f"  and {more} more"] if more else [])]
            self.console.print("\n".join(text), markup=False, highlight=False)
        elif left is not None:
            self.console.print(f"{self.pace}; {format_duration(now)}, about {format_duration(left)} left")
        else:
            return
        self.last = now


@dataclass
class NotebookReporter:
    """One bar in the output of a cell."""

    pace: RunPace
    bar: NotebookBar = field(default_factory=NotebookBar)

    def __call__(self, event: "Event") -> None:
        """Show what happened."""
        self.pace.follow(event)
        left = self.pace.left
        words = [str(self.pace), *([f"about {format_duration(left)} left"] if left else [])]
        if event.kind in ("stopping", "preparing"):
            words = [stopping_line(event.text) if event.kind == "stopping" else "reading corpora"]
        self.bar.show(self.pace.reached / (self.pace.cost or 1.0), "; ".join(words))


@dataclass
class BarReporter:
    """An overall bar, and a line for each worker."""

    pace: RunPace
    names: Mapping[str, str]
    overall: Progress
    workers: Progress
    lines: dict[str, TaskID] = field(default_factory=dict)

    def __call__(self, event: "Event") -> None:
        """Show what happened."""
        self.pace.follow(event)
        if event.kind == "stopping":
            self.overall.console.print(stopping_line(event.text))
        elif event.kind == "started":
            if event.worker not in self.lines:
                self.lines[event.worker] = self.workers.add_task("", total=None, training="")
            name = f"  {self.names[event.unit]}"
            self.workers.reset(self.lines[event.worker], description=name, visible=True, training="")
        elif event.kind == "training":
            if event.worker in self.lines:
                self.workers.update(self.lines[event.worker], training=self.pace.training[event.unit])
        elif event.worker in self.lines:
            self.workers.update(self.lines[event.worker], visible=False)
        description = "reading corpora" if event.kind == "preparing" else str(self.pace)
        self.overall.update(self.overall.task_ids[0], completed=self.pace.reached, description=description)


@contextmanager
def progress_reporter(
    names: Mapping[str, str], cost: float, *, console: Console, quiet: bool = False
) -> "Iterator[Show]":
    """The display that suits a console, while the run lasts.

    Args:
        names: what each unit is, in words.
        cost: of all units together.
        console: where it is shown.
        quiet: show nothing.
    """
    pace = RunPace(len(names), cost)
    if quiet:

        def show_stop(event: "Event") -> None:
            if event.kind == "stopping":
                console.print(stopping_line(event.text))

        yield show_stop
    elif in_notebook():
        cell = NotebookReporter(pace)
        yield cell
        cell.bar.show(1.0, f"{pace}; {format_duration(pace.elapsed)}", ended=True)
    elif not console.is_terminal:
        yield LineReporter(pace, console, names=names)
    else:
        description = TextColumn("{task.description}", markup=False)
        columns = SpinnerColumn(), description, BarColumn(), TimeElapsedColumn(), TimeRemainingColumn()
        # Rich estimates by the last half minute, in which no unit may end: here it is the whole run.
        overall = Progress(*columns, console=console, speed_estimate_period=1e9)
        rest = Column(no_wrap=True, overflow="ellipsis", ratio=1)  # a long name is clipped, and never the step
        name = TextColumn("{task.description}", markup=False, table_column=rest)
        step = TextColumn("{task.fields[training]}", markup=False, table_column=Column(no_wrap=True))
        workers = Progress(name, step, TimeElapsedColumn(), console=console, expand=True)
        bars = BarReporter(pace, names, overall, workers)
        bars.overall.add_task(str(pace), total=cost)
        with Live(Group(bars.overall, bars.workers), console=console, transient=True, refresh_per_second=8):
            yield bars
