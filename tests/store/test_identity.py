"""A process is more than a number."""

import multiprocessing
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from lnlab.store import process_identity
from lnlab.store.process_identity import is_certainly_alive, is_certainly_dead, is_running, this_process


def test_an_ended_process_a_zombie_and_a_reused_number_are_told_from_a_living_one():
    me = this_process()
    assert is_certainly_alive(me)
    assert not is_certainly_dead(me)
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    assert is_certainly_dead(replace(me, pid=ended.pid))
    child = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # it has ended, and nobody has asked for its exit code
    assert (Path("/proc") / str(child.pid)).exists()
    assert not is_running(child.pid)
    assert is_certainly_dead(replace(this_process(), pid=child.pid))
    child.wait()
    me = this_process()
    assert is_certainly_dead(replace(me, start=me.start - 1))
    assert not is_certainly_alive(replace(me, start=me.start - 1))
    for stranger in (replace(this_process(), host="elsewhere"), replace(this_process(), boot="yesterday")):
        assert not is_certainly_dead(stranger)
        assert not is_certainly_alive(stranger)


def test_without_proc_a_signal_tells(monkeypatch, tmp_path):
    monkeypatch.setattr(process_identity, "_PROC", tmp_path)
    me = this_process()
    assert (me.start, me.boot) == (None, "")
    assert is_running(me.pid)
    assert not is_certainly_alive(me)
    assert not is_certainly_dead(me)
    child = multiprocessing.get_context("spawn").Process(target=int)
    child.start()
    child.join()
    assert not is_running(child.pid)

    def refuse(pid, number):
        raise PermissionError

    monkeypatch.setattr(os, "kill", refuse)
    assert is_running(1)
