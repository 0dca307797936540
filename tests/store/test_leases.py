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


def takes(path, lock):
    """Whether the lease can be had; it is given back."""
    taken = acquire_lease(path, lock)
    if taken:
        taken.release()
    return taken is not None


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
    assert takes(path, lock)


def test_the_lease_of_a_dead_process_or_of_a_number_that_was_reused_is_taken_over_at_once(path, lock):
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    for void in ({"pid": ended.pid}, {"start": this_process().start - 1}):
        somebody(path, **void)
        assert takes(path, lock)


def test_a_live_owner_is_never_evicted_whatever_the_clock(path, lock):
    somebody(path)
    for days in (-1, 0, 1):
        os.utime(path, (time.time() + days * 86400,) * 2)
        assert acquire_lease(path, lock) is None


@pytest.mark.parametrize("told", [{"host": "elsewhere"}, {"boot": "yesterday"}])
@pytest.mark.parametrize("age", [-86400, -60, 60, 86400])
def test_a_stranger_keeps_its_lease_while_it_is_refreshed_and_loses_it_after_its_period(path, lock, told, age):
    somebody(path, **told)
    assert acquire_lease(path, lock) is None
    os.utime(path, (time.time() - age,) * 2)
    assert acquire_lease(path, lock)
    assert sorted(path.parent.iterdir()) == [path, lock]


def test_no_period_that_a_lease_may_say_holds_it_for_ever(path, lock):
    for period in (1e9, 1e300, float("inf"), float("nan"), 0, -5, "soon", None):
        somebody(path, host="elsewhere", period=period)
        os.utime(path, (time.time() - 2 * 3600,) * 2)
        assert takes(path, lock)


def test_a_lease_that_cannot_be_read_or_written_is_a_problem_in_words(path, lock, failing, monkeypatch, golden):
    mine = acquire_lease(path, lock)

    def refuse(path):
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(type(path), "read_bytes", refuse)
        with golden.raises(StoreError):
            mine.release()
    path.unlink()
    failing(OSError(30, "Read-only file system"))
    with golden.raises(StoreError):
        acquire_lease(path, lock)


def test_a_torn_lease_has_only_its_age_to_speak_for_it(path, lock):
    for torn in ("", "{", "[]", '{"host": "x"}'):
        path.write_text(torn)
        assert acquire_lease(path, lock) is None
        os.utime(path, (time.time() - 60,) * 2)
        assert takes(path, lock)


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


def before_each(monkeypatch, operation, *acts):
    """Just before the first such operations, somebody else acts."""
    left = list(acts)
    act = lambda name, _: left.pop(0)() if name == operation and left else None  # noqa: E731
    monkeypatch.setattr(files, "before", act)


def test_a_lease_given_back_while_it_is_looked_at_is_free(path, lock, monkeypatch):
    somebody(path)
    before_each(monkeypatch, "lock", path.unlink)
    assert takes(path, lock)


def test_a_lease_given_back_while_its_age_is_asked_is_left_for_the_next_look(path, lock, monkeypatch):
    somebody(path, host="elsewhere")
    os.utime(path, (0, 0))
    before_each(monkeypatch, "create", lambda: None, path.unlink)
    assert acquire_lease(path, lock) is None


def test_of_two_who_take_over_one_wins(path, lock, monkeypatch):
    somebody(path, start=1)
    before_each(monkeypatch, "create", lambda: None, lambda: somebody(path))
    assert acquire_lease(path, lock) is None
    assert json.loads(path.read_text())["nonce"] == "theirs"


def test_a_reader_sees_who_holds_a_lease_that_is_not_void_and_writes_nothing(path, lock):
    assert lease_holder(path) is None
    mine = acquire_lease(path, lock)
    files_before = set(path.parent.iterdir())
    assert lease_holder(path) == this_process()
    assert set(path.parent.iterdir()) == files_before
    mine.release()
    assert lease_holder(path) is None
    somebody(path, start=this_process().start - 1)
    assert lease_holder(path) is None, "its process is gone"
    somebody(path, host="elsewhere")
    assert lease_holder(path).host == "elsewhere", "a fresh one of another machine"
    os.utime(path, (time.time() - 60, time.time() - 60))
    assert lease_holder(path) is None, "a stale one"
    path.write_text("{}")
    assert lease_holder(path) is None, "signed by nobody"
