"""What a reader is told adds up."""

from lnlab.execute.progress import InFlightUnit, ProgressReporter
from lnlab.execute.unit import Answer, Event


def test_units_share_and_busy_time(unit_of):
    told, now = [], [0.0]
    teller = ProgressReporter(3, 2, told.append, clock=lambda: now[0])
    now[0] = 100.0
    teller.begin()
    one, two = InFlightUnit(unit_of(1), 1, 5.0), InFlightUnit(unit_of(2), 2, 2.0)
    teller.report("started", one)
    now[0] = 110.0
    teller.ended(one, Answer(one.unit.key, "finished", seconds=10.0))
    teller.ended(two, Answer(two.unit.key, "timed_out", "stopped after 8 s", 8.0))
    teller.stopping(15)
    teller.stopping(2)
    assert told[0] == Event("started", "worker 1", one.unit.key, cost=5.0, total=3)
    assert (told[1].kind, told[1].busy, told[1].done, told[1].answer.seconds) == ("finished", 0.5, 1, 10.0)
    assert (told[2].kind, told[2].busy, told[2].answer.text, told[2].cost) == ("failed", 0.9, "stopped after 8 s", 2.0)
    assert [event.kind for event in told[3:]] == ["stopping"]
    assert teller.summary.ended == {"finished": 1, "timed_out": 1}
    assert teller.summary.problems == [(two.unit.key, "timed_out", "stopped after 8 s")]
    assert (teller.summary.interrupted, told[3].text) == (15, "SIGTERM")
    assert (teller.summary.seconds, teller.summary.busy) == (10.0, 0.9)
