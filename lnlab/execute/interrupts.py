"""Requests to stop: Ctrl-C, and what batch systems send before they kill (SIGTERM) or a lost terminal (SIGHUP).

While units run the requests are counted. After one, units in flight finish or save their state. After two, they stop at
once. Elsewhere SIGTERM and SIGHUP raise ``Stopped``, so that everything is left as after an error.
"""

import os
import signal
import stat
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

_HANGUP: signal.Signals | None = getattr(signal, "SIGHUP", None)
"""None on Windows, where a terminal that is closed ends its processes."""
URGENT = (signal.SIGTERM,) if _HANGUP is None else (signal.SIGTERM, _HANGUP)
"""Whoever sends these kills soon: there is no time to finish a training run."""

SIGNALS = (signal.SIGINT, *URGENT)
CAN_BLOCK_SIGNALS = hasattr(signal, "pthread_sigmask")
"""Not on Windows, where no signal goes to a whole group, either."""

_SAME = 1.0
"""Seconds within which urgent signals are one request: many senders signal a process and then its group."""


class Stopped(BaseException):
    """SIGTERM or SIGHUP arrived. ``number`` is the signal's number."""

    def __init__(self, number: int) -> None:
        super().__init__(signal_name(number))
        self.number = number


@dataclass
class Stops:
    """Requests to stop so far.

    Attributes:
        count: how many.
        first: the number of the first signal, 0 if there was none.
    """

    count: int = 0
    first: int = 0
    _last: float = -_SAME

    @property
    def urgent(self) -> bool:
        """Whether there is no time to finish."""
        return self.first in URGENT

    def add(self, number: int) -> None:
        """Count a signal."""
        now = time.monotonic()
        if number not in URGENT or now - self._last >= _SAME:
            self.count += 1
        self._last = now if number in URGENT else self._last
        self.first = self.first or number


@contextmanager
def counting_stops(signals: Sequence[signal.Signals] = SIGNALS) -> Iterator[Stops]:
    """Only count requests to stop while the context is open. Outside the main thread this changes nothing."""
    stops = Stops()

    def count(number: int, _frame: object) -> None:
        _detach_lost_terminal(number)
        stops.add(number)

    with _handling(signals, count):
        yield stops


@contextmanager
def raising_stops() -> Iterator[None]:
    """Raise ``Stopped`` on SIGTERM and SIGHUP while the context is open, as Ctrl-C raises ``KeyboardInterrupt``."""

    def stop(number: int, _frame: object) -> None:
        _detach_lost_terminal(number)
        raise Stopped(number)

    with _handling(URGENT, stop):
        yield


def signal_name(number: int) -> str:
    """``Ctrl-C``, ``SIGTERM``, ``SIGHUP``."""
    return "Ctrl-C" if number == signal.SIGINT else signal.Signals(number).name


def exit_name(code: int | None) -> str:
    """An exit code in words: the name of the signal, or the number."""
    if code is not None and code < 0:
        with suppress(ValueError):
            return signal.Signals(-code).name
    return f"exit code {code}"


def listen() -> None:
    """Unblock SIGTERM and SIGHUP, which the process that workers are forked from blocks."""
    if CAN_BLOCK_SIGNALS:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, URGENT)


@contextmanager
def _handling(numbers: Sequence[signal.Signals], handler: Callable[[int, object], None]) -> Iterator[None]:
    """Send these signals to a handler while the context is open. SIGTERM and SIGHUP stay ignored under ``nohup``."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handled = [n for n in numbers if n not in URGENT or signal.getsignal(n) is not signal.SIG_IGN]
    before = {number: signal.signal(number, handler) for number in handled}
    try:
        yield
    finally:
        for number, previous in before.items():
            signal.signal(number, previous)


def _detach_lost_terminal(number: int) -> None:
    """After SIGHUP, printing to the terminal is an error: point the standard streams at nothing."""
    if number == _HANGUP:
        for stream in (1, 2):
            with suppress(OSError):
                if stat.S_ISCHR(os.fstat(stream).st_mode):  # a lost terminal is no longer a tty
                    os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
