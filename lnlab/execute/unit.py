"""The interfaces of execution: what a worker writes to, what it answers, and the events that a sweep reports."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from lnlab.compile.resolve.choices import Registries
from lnlab.compile.work import Trajectory
from lnlab.errors import CorpusError, StoreError
from lnlab.issues import Issue
from lnlab.keys import Json
from lnlab.registry import Roots
from lnlab.tables import LivePoint, Resumed, Row

LoadRegistries = Callable[[], Registries]
"""Brings the registries into a worker. It must survive pickling."""

SAVE_EVERY = 60.0
"""Seconds of training between two saved states."""

SHOW_EVERY = 1.0
"""Seconds between two points of a training run that readers see before they are committed, and between two looks."""

BUSY, CORPUS, STORE = "busy", "corpus", "store"
"""Answers that are no status: another process has the unit, its corpus is absent, or the store cannot be written."""


class Sink(Protocol):
    """Where a worker writes its rows. Nothing is visible to readers before ``commit``."""

    def write(self, table: str, rows: Iterable[Row]) -> None:
        """Add rows to one of ``WRITTEN_BY_WORKERS``."""

    def commit(self, measurements: Sequence[str], outcome: Row) -> None:
        """Make everything written visible at once: these measurements, and a row of ``outcomes``."""


class WorkUnit(Sink, Protocol):
    """A trajectory that this process alone works on. Ends with ``commit`` or ``abandon``."""

    @property
    def output(self) -> Path:
        """The file for what the worker prints. Its last lines are stored."""
        ...

    def missing(self, measurements: Sequence[str]) -> list[str]:
        """Return the measurements that have not been made."""
        ...

    def settled(self, steps: int = 0) -> bool:
        """Whether the trajectory has finished ``steps`` updates before, or came to its own end."""
        ...

    def resume(self, limit: int) -> Resumed | None:
        """The last saved state of at most ``limit`` updates that recorded rows reach. This segment begins there."""
        ...

    def save(self, step: int, content: bytes, facts: Json) -> None:
        """Save a state."""
        ...

    def show(self, point: LivePoint) -> None:
        """Let readers see where training is."""
        ...

    def go_on(self, measurements: Sequence[str], outcome: Row) -> None:
        """Commit what was written so far as one segment, and go on with the next."""
        ...

    def abandon(self) -> None:
        """End without a trace."""
        ...


OpenUnit = Callable[[str], WorkUnit | None]
"""``open_unit(trajectory key)``: the unit, or None while another process holds it. Must survive pickling."""


@dataclass(frozen=True)
class Assignment:
    """Everything a worker needs for one unit."""

    trajectory: Trajectory
    open_unit: OpenUnit
    load: LoadRegistries
    roots: Roots = ()
    save_every: float = SAVE_EVERY


@dataclass(frozen=True)
class Answer:
    """What a worker returns: little, as the rows are in the store.

    Attributes:
        key: of the trajectory.
        status: of the run, or ``busy``, ``corpus`` or ``store``.
        text: one line.
        seconds: time that the worker spent on it.
        problems: for an absent corpus and a store that cannot be written.
        elsewhere: whether another process had computed all of it, so that nothing was left to do.
    """

    key: str
    status: str
    text: str = ""
    seconds: float = 0.0
    problems: tuple[Issue, ...] = ()
    elsewhere: bool = False

    def raise_if_fatal(self) -> None:
        """Raise what concerns every unit.

        Raises:
            CorpusError: a corpus is absent or damaged.
            StoreError: the store cannot be written.
        """
        if self.status == CORPUS:
            raise CorpusError(*self.problems)
        if self.status == STORE:
            raise StoreError(*self.problems)


@dataclass(frozen=True)
class Event:
    """A change in the progress of a sweep.

    Attributes:
        kind: ``preparing`` (corpora are read), ``started``, ``finished``, ``failed`` (any other end), ``returned``
            (queued again: its worker died, or another lnlab works on it), ``training`` (it has come to another
            step), ``stopping`` (after a signal, whose name is the text).
        worker: a name that stays with one worker, or nothing.
        unit: key of the trajectory, or nothing.
        answer: how the unit ended, of ``finished``, ``failed`` and ``returned``.
        text: of ``stopping`` the name of the signal.
        cost: its share of the total.
        done: units that have ended, of ``total``.
        total: units.
        busy: share of the workers' time so far that was spent on units that have ended.
        step: updates that a unit which is training has made, of ``steps``.
        steps: updates of that unit.
        loss: its training loss there.
    """

    kind: str
    worker: str = ""
    unit: str = ""
    answer: Answer | None = None
    text: str = ""
    cost: float = 0.0
    done: int = 0
    total: int = 0
    busy: float = 0.0
    step: int = 0
    steps: int = 0
    loss: float = 0.0


def ignore_event(event: Event) -> None:
    """Report nothing."""
