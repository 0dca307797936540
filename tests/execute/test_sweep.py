"""Whatever becomes of the workers, each unit ends once, and the rows are the same."""

import os
import signal
import threading
import time
from collections import Counter
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from types import SimpleNamespace

import pytest
import torch

from lnlab.compile.cost.memory import LIBRARIES, plan_memory
from lnlab.errors import CorpusError, StoreError
from lnlab.execute import scheduler
from lnlab.execute.devices import visible_gpu
from lnlab.execute.interrupts import exit_name
from lnlab.execute.machine import ThisMachine
from lnlab.execute.pool import Workers
from lnlab.execute.scheduler import sweep
from lnlab.execute.worker import work
from lnlab.issues import Issue
from lnlab.store.records.records import read_trajectory
from lnlab.store.store import Store
from tests.support.toy_pieces import load

COUNT = 2


@pytest.fixture
def run(store):
    def go(units, **given):
        told = []
        tally = sweep(units, store.open_unit, load, **{"workers": COUNT, "on_event": told.append} | given)
        return tally, told

    return go


def records(store, units):
    return {unit.seed: read_trajectory(store.root, unit.key).records for unit in units}


def payloads(store, units):
    return {
        unit.key: [r.files["sites.parquet"] for r in read_trajectory(store.root, unit.key).records] for unit in units
    }


def test_every_unit_ends_once_and_the_reader_is_told(run, store, unit_of, tmp_path):
    notes = tmp_path / "notes"
    units = [unit_of(seed, {"kind": "note", "file": str(notes)}) for seed in range(8)]
    tally, told = run(units, costs={unit.key: float(unit.seed) for unit in units})
    assert tally.ended == {"finished": 8}
    assert not tally.interrupted
    assert Counter(event.kind for event in told) == {"preparing": 1, "started": 8, "finished": 8}
    started = [event.cost for event in told if event.kind == "started"]
    assert started == sorted(started, reverse=True)
    assert [event.done for event in told if event.kind == "finished"] == list(range(1, 9))
    assert {event.worker for event in told} == {"", "worker 1", "worker 2"}
    lines = [line.split() for line in notes.read_text().splitlines()]
    assert Counter(int(seed) for _, seed, _, _ in lines) == Counter(range(8))
    assert {(variable, threads) for _, _, variable, threads in lines} == {("1", "1")}
    assert str(os.getpid()) not in {pid for pid, _, _, _ in lines}
    assert all(len(found) == 1 for found in records(store, units).values())


def test_one_worker_or_two_and_any_order_give_the_same_bytes(store, unit_of, tmp_path):
    units = [unit_of(seed, {"kind": "norm", "batches": 2}) for seed in range(6)]
    found = []
    for n, (order, workers) in enumerate([(units, 1), (units[::-1], 2), (units[3:] + units[:3], 2)]):
        other = type(store)(tmp_path / str(n))
        assert sweep(order, other.open_unit, load, workers=workers).ended == {"finished": 6}
        found.append(payloads(other, units))
    assert found[0] == found[1] == found[2]


def test_nothing_to_do_starts_nothing(run, monkeypatch):
    monkeypatch.setattr("lnlab.execute.scheduler.Workers", None)
    tally, told = run([])
    assert (tally.ended, told) == ({}, [])


@pytest.mark.parametrize(("how", "cause"), [("SIGKILL", "SIGKILL"), ("segfault", "SIGSEGV"), ("exit", "exit code 3")])
def test_a_unit_that_kills_three_workers_has_failed_and_the_others_finish(run, store, unit_of, tmp_path, how, cause):
    deadly = unit_of(0, {"kind": "die", "how": how})
    others = [unit_of(seed, "norm") for seed in range(1, 5)]
    tally, told = run([deadly, *others])
    assert tally.ended == {"finished": 4, "failed": 1}
    ((key, status, text),) = tally.problems
    assert (key, status, text) == (deadly.key, "failed", f"3 times its worker died ({cause})")
    assert sum(event.kind == "returned" and event.unit == deadly.key for event in told) == 2
    (record,) = read_trajectory(store.root, deadly.key).records
    assert record.outcome["reason"] == text
    assert record.asked == (deadly.measurements[0].key,)
    assert "last words" in (record.folder / "output.txt").read_text()


def test_a_unit_that_kills_two_workers_finishes_with_the_third(run, store, unit_of, tmp_path):
    unit = unit_of(1, {"kind": "die", "file": str(tmp_path / "deaths"), "times": 2})
    tally, _ = run([unit])
    assert tally.ended == {"finished": 1}
    assert len(read_trajectory(store.root, unit.key).records) == 1


def test_an_absent_corpus_is_said_once_before_any_work(run, store, unit_of, golden):
    units = [unit_of(1, "norm"), unit_of(2, "norm", task={"absent": True}), unit_of(3, "norm", task={"absent": True})]
    with golden.raises(CorpusError):
        run(units)
    assert not store.root.exists()


def test_a_corpus_that_turns_out_damaged_ends_the_sweep_and_a_cause_is_said_in_words(run, store, unit_of):
    with pytest.raises(CorpusError, match="is damaged"):
        run([unit_of(1, {"kind": "fail", "how": "corpus"})])
    assert [exit_name(code) for code in (-9, -200, 7, None)] == [
        "SIGKILL",
        "exit code -200",
        "exit code 7",
        "exit code None",
    ]


def refuse(root, key):
    raise StoreError(Issue("wrong-value", str(root), "cannot write: no space left on device", "free some space"))


def test_a_store_that_refuses_is_said_once(run, store, unit_of, tmp_path):
    units = [unit_of(seed, "norm") for seed in range(4)]
    with pytest.raises(StoreError) as caught:
        sweep(units, partial(refuse, tmp_path), load, workers=2)
    assert len(caught.value.issues) == 1
    with pytest.raises(StoreError, match="no space left"):
        sweep([unit_of(1, "die")], partial(refuse_after_death, store, tmp_path), load, workers=1)


def refuse_after_death(store, tmp_path, key):
    mark = tmp_path / f"opened {os.getpid()}"
    if len(list(tmp_path.glob("opened *"))) >= 3 and not mark.exists():
        refuse(tmp_path, key)
    mark.write_text("")
    return store.open_unit(key)


def test_a_unit_that_another_lnlab_holds_is_waited_for(run, store, unit_of):
    mine, theirs = unit_of(1, "norm"), unit_of(2, "norm")
    held, told = store.open_unit(theirs.key), []

    def on_event(event):
        told.append((event.kind, event.unit, event.answer and event.answer.text))
        if told.count(("returned", theirs.key, "another process works on it")) == 3 and held.folder.exists():
            held.abandon()

    tally, _ = run([theirs, mine], on_event=on_event)
    assert tally.ended == {"finished": 2}
    assert told[-1][:2] == ("finished", theirs.key)


def press(times, gap=0.3):
    for _ in range(times):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(gap)


def test_ctrl_c_once_finishes_what_is_in_flight_and_twice_stops_at_once(run, store, unit_of, tmp_path):
    for presses, ends in ((1, {"finished"}), (2, {"interrupted"})):
        notes = tmp_path / f"notes {presses}"
        seconds = 1.0 if presses == 1 else 60.0
        slow = [unit_of(n + 10 * presses, {"kind": "note", "file": str(notes), "seconds": seconds}) for n in range(6)]

        def on_event(event, presses=presses, started=Counter()):  # noqa: B006
            started[presses] += event.kind == "started"
            if event.kind == "started" and started[presses] == COUNT:
                threading.Timer(0.7, press, (presses,)).start()

        tally, _ = run(slow, on_event=on_event)
        assert tally.interrupted
        assert set(tally.ended) == ends
        assert tally.ended.total() == COUNT
        statuses = [r[0].outcome["status"] for r in records(store, slow).values() if r]
        assert statuses == [*ends] * COUNT
        again, _ = run(slow[:1]) if presses == 1 else (None, None)
        assert again is None or again.ended == {"finished": 1}


def test_a_free_worker_takes_the_next_unit_while_another_is_still_at_work(run, unit_of, tmp_path):
    note = {"kind": "note", "file": str(tmp_path / "notes")}
    last = unit_of(0, note | {"after": 15})
    units = [last, *(unit_of(n, note) for n in range(1, 16))]
    tally, told = run(units, costs={unit.key: float(unit is last) for unit in units})
    assert tally.ended == {"finished": 16}
    kinds = [event.kind for event in told if event.unit == last.key]
    assert kinds == ["started", "finished"]
    assert told[1].unit == last.key
    assert {event.kind for event in told[2:-1]} == {"started", "finished"}


def test_a_pool_that_breaks_hands_its_units_to_the_next(run, store, unit_of, monkeypatch, golden):
    broken, submit = [], Workers.submit

    def once(self, task, given, **options):
        if task is work and not broken:
            broken.append(Future())
            broken[0].set_exception(BrokenProcessPool("All workers expired"))
            return broken[0]
        return submit(self, task, given, **options)

    monkeypatch.setattr(Workers, "submit", once)
    units = [unit_of(seed, "norm") for seed in range(3)]
    tally, told = run(units)
    assert tally.ended == {"finished": 3}
    golden([event.answer.text for event in told if event.kind == "returned"])
    assert all(len(found) == 1 for found in records(store, units).values())


def test_where_no_worker_can_be_started_for_long_the_sweep_ends_and_says_so(run, store, unit_of, monkeypatch):
    def never(self, task, given, **options):
        future = Future()
        future.set_exception(BrokenProcessPool("no process can be started: Cannot allocate memory"))
        return future

    monkeypatch.setattr(Workers, "submit", never)
    monkeypatch.setattr(scheduler, "PATIENCE", 0.3)
    with pytest.raises(StoreError) as refused:
        run([unit_of(seed, "norm") for seed in range(3)])
    (problem,) = refused.value.issues
    assert "Cannot allocate memory" in problem.what
    assert "ulimit" in problem.remedy


def test_units_that_another_process_computed_meanwhile_are_not_counted_as_computed_here(run, store, unit_of):
    units = [unit_of(seed, {"kind": "norm"}) for seed in range(4)]
    first, _ = run(units[:3])
    second, _ = run(units)  # as of a process that planned its work before the first had done its own
    assert (first.ended.total(), first.elsewhere) == (3, 0)
    assert (second.ended.total(), second.elsewhere) == (4, 3)


@pytest.mark.parametrize(("visible", "named"), [("", ["0", "1", "0"]), ("3, GPU-7a", ["3", "GPU-7a", "3"])])
def test_units_are_shared_among_the_gpus_of_a_machine_and_rows_do_not_tell_which(
    run, store, unit_of, tmp_path, monkeypatch, visible, named
):
    """Two GPUs of which the first has room for two units and the second for one; the units themselves need none."""
    memories = [int(2.1 * LIBRARIES / 0.85), int(1.1 * LIBRARIES / 0.85)]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda n: SimpleNamespace(total_memory=memories[n]))
    machine = ThisMachine(8)
    assert machine.gpus({"cpu"}) == ()
    plan = plan_memory([], {}, machine.workers, 2**40, machine.gpus({"cuda"}))
    gpus = [visible_gpu(number) for number in plan.devices]
    workers = Workers(plan.workers, gpus)
    try:
        seen = [workers.submit(os.getenv, "CUDA_VISIBLE_DEVICES", worker=n + 1) for n in range(plan.workers)]
        assert [future.result(timeout=60) for future in seen] == named
    finally:
        workers.stop()
    units = [unit_of(seed, {"kind": "norm", "batches": 2}) for seed in range(12)]
    assert run(units, workers=plan.workers, gpus=gpus)[0].ended == {"finished": 12}
    elsewhere = Store(tmp_path / "one device")
    sweep(units, elsewhere.open_unit, load, workers=1)
    assert payloads(store, units) == payloads(elsewhere, units)
