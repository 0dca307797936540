"""Ctrl-C is counted while a sweep runs, and is itself again afterwards."""

import os
import signal
import threading

import pytest

from lnlab.execute.stopping import counting_interrupts


@pytest.fixture
def listening():
    """Ctrl-C raises, whoever started the tests and whatever they made of it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("listening")
def test_presses_are_counted_inside_and_raise_outside():
    with counting_interrupts() as presses:
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        assert presses.count == 2
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)


def test_outside_the_main_thread_signals_are_left_alone():
    before, seen = signal.getsignal(signal.SIGINT), []

    def inside():
        with counting_interrupts() as presses:
            seen.append((signal.getsignal(signal.SIGINT) is before, presses.count))

    thread = threading.Thread(target=inside)
    thread.start()
    thread.join()
    assert seen == [(True, 0)]
