"""Kept states: there whole or not there, the last one that committed rows reach, and a damaged one does no harm."""

import errno
import os

import pytest

from lnlab.errors import StoreError
from lnlab.store.records.coverage import coverage_of
from lnlab.store.records.layout import trajectory_folder
from lnlab.store.records.records import read_trajectory
from lnlab.store.records.states import latest_state, remove_states, save_state
from lnlab.tables import SavedState
from tests.support.store_toys import outcome_of, trajectory_of

UNIT = trajectory_of(1, 1)
ERRORS = [errno.ENOSPC, errno.EIO]


def saved(step):
    return SavedState(step, bytes([step]) * 100, {"step": step, "rate": 0.1})


@pytest.fixture
def kept(root):
    """A folder with states at 3, 7 and 11."""
    folder = root / "trajectory"
    folder.mkdir(parents=True)
    for step in (3, 7, 11):
        save_state(folder, saved(step))
    return folder


@pytest.mark.parametrize(("limit", "step"), [(2, None), (3, 3), (6, 3), (7, 7), (10, 7), (11, 11), (99, 11)])
def test_the_last_state_within_a_limit_is_read_back_as_it_was(kept, limit, step):
    assert latest_state(kept, limit) == (None if step is None else saved(step))


def cut(path):
    path.write_bytes(path.read_bytes()[:-1])


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(bytes(content))


@pytest.mark.parametrize("suffix", ["json", "safetensors"])
@pytest.mark.parametrize("spoil", [cut, flip, os.remove, lambda path: path.write_bytes(b"")])
def test_a_damaged_state_is_passed_over_for_the_one_before(kept, spoil, suffix):
    spoil(kept / "states" / f"11.{suffix}")
    assert latest_state(kept, 99) == saved(7)


def test_a_state_under_the_name_of_another_step_is_none(kept):
    for suffix in ("json", "safetensors"):
        (kept / "states" / f"7.{suffix}").rename(kept / "states" / f"12.{suffix}")
    assert latest_state(kept, 99) == saved(11)
    assert latest_state(kept, 10) == saved(3)


def test_states_before_the_last_of_a_stretch_and_half_written_ones_are_forgotten(kept):
    (kept / "states" / "12.safetensors.1.ab.part").write_bytes(b"half")
    (kept / "states" / "notes.json").write_bytes(b"{}")
    remove_states(kept, 10)
    names = {path.name for path in (kept / "states").iterdir()}
    assert names == {"7.json", "7.safetensors", "11.json", "11.safetensors", "notes.json"}
    assert latest_state(kept, 5) is None


@pytest.mark.parametrize("code", ERRORS)
def test_a_state_that_could_not_be_written_is_not_there_and_the_one_before_is(kept, failing, monkeypatch, code):
    done = failing(OSError(0, "none"), 10**9)
    save_state(kept, saved(20))
    total = len(done)
    assert total >= 4
    for n in range(1, total + 1):
        failing(OSError(code, os.strerror(code)), n)
        with pytest.raises(StoreError):
            save_state(kept, saved(20 + n))
        monkeypatch.undo()
        # Its JSON counts as the state to those who remove older ones.
        written = (kept / "states" / f"{20 + n}.json").exists()
        assert latest_state(kept, 99) == saved(20 + n if written else 20)
        remove_states(kept, 20)
        save_state(kept, saved(20))


def curve(unit, *steps):
    named = {"trajectory": unit.key, "split": "train", "quantity": "loss"}
    return [named | {"step": step, "value": step / 7} for step in steps]


def reached(unit, steps, status="finished", reason=None):
    return outcome_of(unit, status, reason, seconds=1.0) | {"steps": steps}


def train(store, stops, target, of=UNIT):
    """A worker that goes on from the last state, keeps one at each of ``stops``, and makes ``target`` updates.

    Returns:
        The step that it began with; None where a lease could not be given back.
    """
    unit = store.open_unit(of.key)
    if unit is None:
        return None
    try:
        resumed = unit.resume(target)
        at = begun = resumed.step if resumed else 0
        for stop in [stop for stop in stops if stop > at]:
            unit.write("curves", curve(of, *range(at, stop)))
            unit.save(stop, b"state at %d" % stop, {"step": stop})
            unit.go_on([], reached(of, stop, "interrupted", f"kept at step {stop}"))
            at = stop
        unit.write("curves", curve(of, *range(at, target)))
        unit.commit([], reached(of, target))
    except StoreError:
        unit.lease.release()
        raise
    return begun


def rows(root, of=UNIT):
    """Steps of the committed curve, stretch by stretch."""
    tables = [stretch.tables() for stretch in read_trajectory(root, of.key).stretches]
    found = [row for each in tables if "curves" in each for row in each["curves"].to_dicts()]
    assert all(row["value"] == row["step"] / 7 for row in found)
    return [row["step"] for row in found]


def test_stretches_follow_each_other_and_a_longer_run_goes_on_from_the_last_state(store, root):
    assert train(store, [3, 6], 6) == 0
    assert [(r.first_step, r.steps) for r in read_trajectory(root, UNIT.key).records] == [(0, 3), (3, 6), (6, 6)]
    assert train(store, [9], 12) == 6
    assert rows(root) == list(range(12))
    unit = store.open_unit(UNIT.key)
    assert unit.settled(12)
    assert not unit.settled(13)
    assert unit.resume(12).step == 9
    assert [row["step"] for row in unit.resume(12).curves] == list(range(10))
    unit.abandon()
    assert rows(root) == list(range(12))


def test_a_state_that_no_committed_row_reaches_is_not_gone_on_from(store, root):
    train(store, [3], 3)
    unit = store.open_unit(UNIT.key)
    unit.resume(9)
    unit.save(8, b"state at 8", {"step": 8})
    unit.lease.release()  # as if it were killed before its rows were committed
    assert latest_state(trajectory_folder(root, UNIT.key), 99).step == 8
    assert train(store, [], 10) == 3
    assert rows(root) == list(range(10))


def test_a_lost_state_costs_time_and_no_row(store, root):
    train(store, [4], 6)
    for path in (trajectory_folder(root, UNIT.key) / "states").iterdir():
        flip(path)
    assert train(store, [], 9) == 0
    assert sorted(set(rows(root))) == list(range(9))


@pytest.mark.parametrize("code", [ERRORS[0], *(pytest.param(e, marks=pytest.mark.nightly) for e in ERRORS[1:])])
def test_an_error_at_any_operation_of_training_loses_no_more_than_since_the_last_state(
    store, root, failing, monkeypatch, code
):
    done = failing(OSError(0, "none"), 10**9)
    train(store, [2, 4], 6)
    assert len(done) > 40
    refused, said = 0, set()
    for n in range(1, len(done) + 1):
        unit = trajectory_of(2, n)
        failing(OSError(code, os.strerror(code)), n)
        try:
            train(store, [2, 4], 6, unit)
        except StoreError as error:
            refused += 1
            said.add(error.issues[0].what)
        monkeypatch.undo()
        found = read_trajectory(root, unit.key)
        covered = coverage_of(found.records).covered
        assert not found.damaged
        assert rows(root, unit) == list(range(covered))
        assert covered in (0, 2, 4, 6)
        begun = train(store, [2, 4], 6, unit)
        assert begun == min(covered, 4) or (covered == 6 and begun is None)
        assert sorted(set(rows(root, unit))) == list(range(6))
    assert refused > len(done) / 2
    assert all(os.strerror(code).lower() in each for each in said)
