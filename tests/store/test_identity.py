"""A process is more than a number."""

import multiprocessing
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from lnlab.store import process_identity
from lnlab.store.process_identity import alive, dead, myself, running


def test_this_process_is_alive_and_an_ended_one_is_dead():
    me = myself()
    assert alive(me)
    assert not dead(me)
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    assert dead(replace(me, pid=ended.pid))


def test_a_zombie_is_dead():
    child = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # it has ended, and nobody has asked for its exit code
    assert (Path("/proc") / str(child.pid)).exists()
    assert not running(child.pid)
    assert dead(replace(myself(), pid=child.pid))
    child.wait()


def test_a_reused_number_is_somebody_else():
    me = myself()
    assert dead(replace(me, start=me.start - 1))
    assert not alive(replace(me, start=me.start - 1))


def test_of_another_host_or_another_start_nothing_is_certain():
    for stranger in (replace(myself(), host="elsewhere"), replace(myself(), boot="yesterday")):
        assert not dead(stranger)
        assert not alive(stranger)


def test_without_proc_a_signal_tells(monkeypatch, tmp_path):
    monkeypatch.setattr(process_identity, "_PROC", tmp_path)
    me = myself()
    assert (me.start, me.boot) == (None, "")
    assert running(me.pid)
    assert not alive(me)
    assert not dead(me)
    child = multiprocessing.get_context("spawn").Process(target=int)
    child.start()
    child.join()
    assert not running(child.pid)

    def refuse(pid, number):
        raise PermissionError

    monkeypatch.setattr(os, "kill", refuse)
    assert running(1)
