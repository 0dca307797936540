"""Requests to stop are counted while a sweep runs, raise elsewhere, and are themselves again afterwards."""

import os
import pty
import signal
import subprocess
import sys
import threading

import pytest

from lnlab.execute import interrupts
from lnlab.execute.interrupts import Stopped, Stops, counting_stops, raising_stops


@pytest.fixture
def listening():
    """Ctrl-C raises, whoever started the tests and whatever they made of it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("listening")
def test_presses_are_counted_inside_and_raise_outside():
    with counting_stops() as stops:
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        assert (stops.count, stops.first, stops.urgent) == (2, signal.SIGINT, False)
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_what_a_batch_system_sends_is_counted_inside_a_sweep_and_raises_around_it(number):
    before = signal.getsignal(number)
    with raising_stops():
        with counting_stops() as stops:
            os.kill(os.getpid(), number)
            assert (stops.count, stops.first, stops.urgent) == (1, number, True)
        with pytest.raises(Stopped, match=number.name) as caught:
            os.kill(os.getpid(), number)
        assert caught.value.number == number
    assert signal.getsignal(number) is before


def test_a_signal_to_the_process_and_then_to_its_group_is_one_request(monkeypatch):
    now = [10.0]
    monkeypatch.setattr(interrupts.time, "monotonic", lambda: now[0])
    stops = Stops()
    for seconds, count in ((0.0, 1), (0.2, 1), (2.0, 2)):
        now[0] += seconds
        stops.add(signal.SIGTERM)
        assert stops.count == count
    stops.add(signal.SIGINT)
    assert (stops.count, stops.first) == (3, signal.SIGTERM)


def test_a_signal_that_is_ignored_stays_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with raising_stops(), counting_stops() as stops:
            os.kill(os.getpid(), signal.SIGHUP)
            assert stops.count == 0
    finally:
        signal.signal(signal.SIGHUP, before)


def test_outside_the_main_thread_signals_are_left_alone():
    before, seen = signal.getsignal(signal.SIGINT), []

    def inside():
        with counting_stops() as stops:
            seen.append((signal.getsignal(signal.SIGINT) is before, stops.count))

    thread = threading.Thread(target=inside)
    thread.start()
    thread.join()
    assert seen == [(True, 0)]


LOST = """
import os, signal
from lnlab.execute.interrupts import counting_stops
with counting_stops() as stops:
    print("ready", flush=True)
    while not stops.count:
        signal.pause()
    print("nobody reads this", flush=True)
os._exit(7)
"""


def test_printing_to_a_terminal_that_is_gone_is_no_error():
    ours, theirs = pty.openpty()
    running = subprocess.Popen([sys.executable, "-c", LOST], stdout=theirs, stderr=theirs, stdin=theirs)
    os.close(theirs)
    assert os.read(ours, 100).strip() == b"ready"
    os.close(ours)
    running.send_signal(signal.SIGHUP)
    assert running.wait(timeout=20) == 7
