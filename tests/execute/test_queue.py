"""Dearest first, and what must wait does not keep the others waiting."""

from lnlab.execute.queue import DELAY, Queue


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def test_the_dearest_unit_comes_first_and_equal_ones_in_their_order(unit_of):
    a, b, c, d = (unit_of(seed) for seed in range(4))
    queue = Queue.of([a, b, c, d], {b.key: 9.0, d.key: 0.5})
    assert [queue.next() for _ in range(5)] == [b, a, c, d, None]
    assert not queue
    assert queue.wait_time() == 0


def test_a_unit_that_came_back_waits_its_time_behind_the_others(unit_of):
    a, b = unit_of(1), unit_of(2)
    queue = Queue.of([a, b], {})
    queue.clock = clock = Clock()
    queue.put_back(queue.next())
    assert queue
    assert queue.wait_time() == 0.0
    assert queue.next() is b
    assert queue.next() is None
    assert queue.wait_time() == DELAY
    clock.now = 1.1 * DELAY
    assert queue.wait_time() == 0.0
    assert queue.next() is a
