"""Workers that hold more than one unit, and that come and go: what an executor may do to the scheduler."""

from collections import Counter
from concurrent.futures import Future

import pytest

from lnlab.execute.executor import WorkerLost
from lnlab.execute.scheduler import MAX_LOSSES, sweep
from lnlab.execute.worker import prepare
from tests.support.toy_pieces import load


class Threadless:
    """Workers that do one task whenever somebody asks whether they are ready."""

    def __init__(self, count, ahead=0.0, lost=()):
        self.count, self.ahead = count, ahead
        self.hands = {number: [] for number in range(1, count + 1)}
        self.most, self.lost, self.stopped = Counter(), list(lost), False

    def ready(self):
        for number, hand in self.hands.items():
            if hand:
                task, argument, future = hand.pop(0)
                if number in self.lost:
                    self.lost.remove(number)
                    for first, (_, _, gone) in enumerate([(task, argument, future), *hand]):
                        gone.set_exception(WorkerLost(first=not first))
                    hand.clear()
                else:
                    future.set_result(task(argument))
                break
        return list(self.hands)

    def submit(self, task, argument, timeout=None, *, worker=1):
        future = Future()
        if task is prepare:
            future.set_result(task(argument))
            return future
        self.hands[worker].append((task, argument, future))
        self.most[worker] = max(self.most[worker], len(self.hands[worker]))
        return future

    def terminate(self):
        raise AssertionError("nobody asked to stop")

    def stop(self):
        self.stopped = True


@pytest.fixture
def run(store):
    def go(units, executor, **options):
        events = []
        tally = sweep(units, store.open_unit, load, on_event=events.append, open_executor=lambda _: executor, **options)
        return tally, events

    return go


def norms(unit_of, count):
    return [unit_of(seed, {"kind": "norm", "batches": 1}) for seed in range(count)]


@pytest.mark.parametrize(("ahead", "most"), [(0.0, 1), (60.0, 8)])
def test_a_worker_holds_as_much_as_it_may_and_each_unit_starts_and_ends_once(run, unit_of, ahead, most):
    executor = Threadless(2, ahead)
    tally, events = run(norms(unit_of, 20), executor)
    assert tally.ended == {"finished": 20}
    assert Counter(event.kind for event in events) == {"preparing": 1, "started": 20, "finished": 20}
    assert max(executor.most.values()) >= most if ahead else max(executor.most.values()) == most
    assert executor.stopped
    at_work = set()
    for event in events[1:]:  # a worker is at one unit at a time
        if event.kind == "started":
            assert event.worker not in at_work
            at_work.add(event.worker)
        else:
            at_work.remove(event.worker)


def test_long_units_are_not_held_while_another_worker_may_be_idle_first(run, unit_of):
    executor = Threadless(2, ahead=1e-9)
    run(norms(unit_of, 8), executor)
    assert set(executor.most.values()) == {1}


def test_what_a_lost_worker_held_is_done_by_others(run, unit_of):
    tally, events = run(norms(unit_of, 12), Threadless(2, ahead=60.0, lost=[1, 2, 1]))
    assert tally.ended == {"finished": 12}
    assert {event.answer.text for event in events if event.kind == "returned"} == {"its worker was lost"}


def test_a_unit_that_was_there_whenever_a_machine_went_away_has_failed(run, unit_of, store):
    (unit,) = norms(unit_of, 1)
    tally, _ = run([unit], Threadless(1, lost=[1] * MAX_LOSSES))
    assert tally.problems == [(unit.key, "failed", f"{MAX_LOSSES} times its worker was lost")]
