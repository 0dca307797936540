"""Ctrl-C, counted: once means finish what is in flight, twice means stop now."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass
class Presses:
    """How often the user asked to stop."""

    count: int = 0


@contextmanager
def counting_interrupts() -> Iterator[Presses]:
    """Inside, SIGINT is counted and nothing else; outside the main thread it goes where it always goes."""
    presses = Presses()

    def count(_number: int, _frame: object) -> None:
        presses.count += 1

    if threading.current_thread() is not threading.main_thread():
        yield presses
        return
    before = signal.signal(signal.SIGINT, count)
    try:
        yield presses
    finally:
        signal.signal(signal.SIGINT, before)
