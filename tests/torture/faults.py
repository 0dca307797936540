"""The faults that are injected: each a function that injects it many times and says how often and what was lost."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

Item = TypeVar("Item")


class Skipped(Exception):
    """This machine does not let the fault be injected; the message says why."""


@dataclass
class Tally:
    """What became of one fault.

    Attributes:
        injected: how often it was injected.
        lost: one sentence for each time that the promise was not kept.
        notes: further counts, in words.
    """

    injected: int = 0
    lost: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, losses: Sequence[str]) -> None:
        """Count one injection and what it cost."""
        self.injected += 1
        self.lost += losses


Inject = Callable[[Path, bool], Tally]
"""Injects a fault in an empty folder: at full size, or else at that of the suite."""


@dataclass(frozen=True)
class Fault:
    """A row of the table."""

    group: str
    name: str
    promise: str
    inject: Inject


FAULTS: dict[str, Fault] = {}


def fault(group: str, name: str, promise: str) -> Callable[[Inject], Inject]:
    """Register a fault under the sentence that names it."""

    def register(inject: Inject) -> Inject:
        FAULTS[name] = Fault(group, name, promise, inject)
        return inject

    return register


def sample(items: Sequence[Item], most: int) -> list[Item]:
    """All of the items, or so many of them at even distances, the first and the last among them."""
    if len(items) <= most:
        return list(items)
    return [items[round(n * (len(items) - 1) / (most - 1))] for n in range(most)]


@dataclass(frozen=True)
class Row:
    """A fault with what became of it; ``skipped`` says why it could not be injected here."""

    fault: Fault
    tally: Tally
    seconds: float
    skipped: str = ""

    def cells(self) -> tuple[str, str, str, str]:
        """Fault, how often, what was lost, further counts."""
        lost = f"{len(self.tally.lost):,}: {self.tally.lost[0]}" if self.tally.lost else "nothing"
        notes = "; ".join(self.tally.notes)
        if self.skipped:
            return self.fault.name, "0", "not injected here", self.skipped
        return self.fault.name, f"{self.tally.injected:,}", lost, notes


def suffer(fault: Fault, folder: Path, *, full: bool) -> Row:
    """Inject one fault."""
    begun = time.monotonic()
    folder.mkdir(parents=True)
    try:
        tally, skipped = fault.inject(folder, full), ""
        if not full:
            tally.notes.insert(0, "at the size of the test suite")
    except Skipped as error:
        tally, skipped = Tally(), str(error)
    return Row(fault, tally, time.monotonic() - begun, skipped)
