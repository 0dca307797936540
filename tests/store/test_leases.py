"""Nobody is evicted who lives; nobody waits for the dead."""

import json
import os
import subprocess
import sys
import time

import pytest

from lnlab.errors import StoreError
from lnlab.store import files
from lnlab.store.leases import acquire_lease, lease_holder
from lnlab.store.process_identity import this_process


@pytest.fixture
def path(tmp_path):
    return tmp_path / "lease"


@pytest.fixture
def lock(tmp_path):
    return tmp_path / "lock"


def somebody(path, **told):
    """Somebody else's lease."""
    path.write_text(json.dumps({**this_process().to_json(), "period": 30.0, "nonce": "theirs", **told}))


def test_a_lease_is_held_by_one_and_free_again_once_released(path, lock):
    mine = acquire_lease(path, lock)
    assert mine
    assert json.loads(path.read_text())["pid"] == os.getpid()
    assert acquire_lease(path, lock) is None
    mine.release()
    assert not path.exists()
    again = acquire_lease(path, lock)
    assert again
    again.release()


def test_the_lease_of_a_dead_process_is_taken_over_at_once(path, lock):
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    somebody(path, pid=ended.pid)
    taken = acquire_lease(path, lock)
    assert taken
    taken.release()


def test_the_lease_of_a_process_whose_number_was_reused_is_taken_over(path, lock):
    somebody(path, start=this_process().start - 1)
    taken = acquire_lease(path, lock)
    assert taken
    taken.release()


@pytest.mark.parametrize("days", [-1, 0, 1])
def test_a_live_owner_is_never_evicted_whatever_the_clock(path, lock, days):
    somebody(path)
    os.utime(path, (time.time() + days * 86400,) * 2)
    assert acquire_lease(path, lock) is None


@pytest.mark.parametrize("told", [{"host": "elsewhere"}, {"boot": "yesterday"}])
@pytest.mark.parametrize("age", [-86400, -60, 60, 86400])
def test_a_stranger_keeps_its_lease_while_it_is_refreshed_and_loses_it_after_its_period(path, lock, told, age):
    somebody(path, **told)
    assert acquire_lease(path, lock) is None
    os.utime(path, (time.time() - age,) * 2)
    taken = acquire_lease(path, lock)
    assert taken
    taken.release()


@pytest.mark.parametrize("period", [1e9, 1e300, float("inf"), float("nan"), 0, -5, "soon", None])
def test_no_period_that_a_lease_may_say_holds_it_for_ever(path, lock, period):
    somebody(path, host="elsewhere", period=period)
    os.utime(path, (time.time() - 2 * 3600,) * 2)
    taken = acquire_lease(path, lock)
    assert taken
    taken.release()


def test_a_lease_that_cannot_be_read_is_a_problem_in_words(path, lock, monkeypatch, golden):
    mine = acquire_lease(path, lock)

    def refuse(path):
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(type(path), "read_bytes", refuse)
        with golden.raises(StoreError):
            mine.release()


@pytest.mark.parametrize("torn", ["", "{", "[]", '{"host": "x"}'])
def test_a_torn_lease_has_only_its_age_to_speak_for_it(path, lock, torn):
    path.write_text(torn)
    assert acquire_lease(path, lock) is None
    os.utime(path, (time.time() - 60,) * 2)
    taken = acquire_lease(path, lock)
    assert taken
    taken.release()


def test_a_lease_is_refreshed_while_it_is_held(path, lock):
    mine = acquire_lease(path, lock, period=0.04)
    os.utime(path, (0, 0))
    until = time.monotonic() + 5
    while path.stat().st_mtime == 0 and time.monotonic() < until:
        time.sleep(0.01)
    assert path.stat().st_mtime > 0
    mine.release()


def test_an_evicted_owner_does_not_remove_the_lease_of_the_next(path, lock):
    mine = acquire_lease(path, lock)
    somebody(path)
    mine.release()
    assert json.loads(path.read_text())["nonce"] == "theirs"


def test_no_leftovers(path, lock, tmp_path):
    somebody(path, host="elsewhere")
    acquire_lease(path, lock)
    assert sorted(tmp_path.iterdir()) == [path, lock]


def test_a_folder_that_cannot_be_written_is_a_problem_in_words(path, lock, failing, golden):
    failing(OSError(30, "Read-only file system"))
    with golden.raises(StoreError):
        acquire_lease(path, lock)


def during(monkeypatch, operation, act):
    """Just before the first such operation, somebody else acts."""
    left = [act]

    def before(name, path):
        if name == operation and left:
            left.pop()()

    monkeypatch.setattr(files, "before", before)


def test_a_lease_given_back_while_it_is_looked_at_is_free(path, lock, monkeypatch):
    somebody(path)
    during(monkeypatch, "lock", path.unlink)
    taken = acquire_lease(path, lock)
    assert taken
    taken.release()


def test_a_lease_given_back_while_its_age_is_asked_is_left_for_the_next_look(path, lock, monkeypatch):
    somebody(path, host="elsewhere")
    os.utime(path, (0, 0))
    clocks = iter([lambda: None, path.unlink])

    def before(name, where):
        if name == "create":
            next(clocks)()

    monkeypatch.setattr(files, "before", before)
    assert acquire_lease(path, lock) is None


def test_of_two_who_take_over_one_wins(path, lock, monkeypatch):
    somebody(path, start=1)
    done = []

    def before(name, where):
        done.append(name)
        if name == "create" and done.count("create") == 2:
            somebody(path)

    monkeypatch.setattr(files, "before", before)
    assert acquire_lease(path, lock) is None
    assert json.loads(path.read_text())["nonce"] == "theirs"


def test_a_reader_sees_who_holds_a_lease_and_writes_nothing(path, lock):
    assert lease_holder(path) is None
    mine = acquire_lease(path, lock)
    files_before = set(path.parent.iterdir())
    assert lease_holder(path) == this_process()
    assert set(path.parent.iterdir()) == files_before
    mine.release()
    assert lease_holder(path) is None


def test_a_reader_sees_no_holder_in_a_lease_that_is_void(path):
    somebody(path, start=this_process().start - 1)
    assert lease_holder(path) is None, "its process is gone"
    somebody(path, host="elsewhere")
    assert lease_holder(path).host == "elsewhere", "a fresh one of another machine"
    os.utime(path, (time.time() - 60, time.time() - 60))
    assert lease_holder(path) is None, "a stale one"
    path.write_text("{}")
    assert lease_holder(path) is None, "signed by nobody"
