import io

import pytest
from rich.console import Console

from lnlab.app import progress as shown
from lnlab.app.progress import FINISHING_MESSAGE, LineReporter, RunPace
from lnlab.cli.terminal import err
from lnlab.execute.unit import Answer, Event


class Clock:
    """A clock that the test moves."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def started(worker: str = "worker 1", unit: str = "a") -> Event:
    return Event("started", worker=worker, unit=unit)


def ended(status: str = "finished", cost: float = 1.0, worker: str = "worker 1", unit: str = "a") -> Event:
    kind = "finished" if status == "finished" else "failed"
    return Event(kind, worker=worker, unit=unit, answer=Answer(unit, status), cost=cost)


def test_the_time_left_follows_costs_not_counts_and_not_the_time_before_the_first_unit():
    clock = Clock()
    pace = RunPace(units=2, cost=10.0, clock=clock)
    assert pace.left is None
    clock.now += 1000
    pace.follow(started())
    clock.now += 30
    pace.follow(ended(cost=2.5))
    assert pace.left == pytest.approx(90.0)


def test_no_time_is_left_where_the_costs_of_units_add_up_to_a_little_more_than_their_sum():
    clock = Clock()
    pace = RunPace(units=3, cost=0.3, clock=clock)
    pace.follow(started())
    clock.now += 1000
    for _ in range(3):
        pace.follow(ended(cost=0.1))
    assert pace.spent > pace.cost
    assert pace.left == 0.0


def test_plain_lines_are_seconds_apart_and_name_what_failed(golden):
    clock = Clock()
    written = io.StringIO()
    lines = LineReporter(RunPace(units=100, cost=100.0, clock=clock), Console(file=written, width=200))
    for unit in range(40):
        lines(started())
        clock.now += 0.5
        lines(ended("out_of_memory" if unit == 3 else "finished"))
    golden(written.getvalue().splitlines())


def training(step: int, unit: str = "a", cost: float = 10.0, worker: str = "worker 1") -> Event:
    return Event("training", worker=worker, unit=unit, cost=cost, step=step, steps=1000, loss=5.3125)


def test_steps_inside_a_unit_count_and_what_was_done_before_does_not():
    clock = Clock()
    pace = RunPace(units=2, cost=20.0, clock=clock)
    pace.follow(started())
    pace.follow(training(500))  # taken up at step 500
    clock.now += 50
    pace.follow(training(750))
    assert pace.reached == pytest.approx(2.5)
    assert pace.left == pytest.approx(50 * 17.5 / 2.5)
    pace.follow(ended(cost=10.0))
    assert (pace.reached, pace.training) == (10.0, {})


def test_a_log_says_where_units_are_every_half_minute_where_none_ends(golden):
    clock = Clock()
    written = io.StringIO()
    pace = RunPace(units=3, cost=30.0, clock=clock)
    lines = LineReporter(pace, Console(file=written, width=200), names={"a": "lr=[red]1, seed 1", "b": "seed 2"})
    lines(started())
    for second in range(70):
        clock.now += 1
        lines(training(second))
        lines(training(2 * second, unit="b", worker="worker 2"))
    golden(written.getvalue().splitlines())


def test_a_terminal_gets_an_overall_bar_and_a_line_a_worker():
    written = io.StringIO()
    console = Console(file=written, width=80, force_terminal=True, no_color=True)
    names = {"a": "model.layers=6 [bold], seed 1", "b": "a setting with many axes " * 9}
    with shown.progress_reporter(names, 2.0, console=console) as show:
        show(Event("preparing"))
        console.print(show.overall)
        show(started("worker 1", "a"))
        show(started("worker 2", "b"))
        show(training(120, unit="b", worker="worker 2", cost=1.0))
        console.print(show.overall, show.workers)
        show(ended("diverged"))
        show(Event("stopping", text="Ctrl-C"))
        console.print(show.overall, show.workers)
    for words in (
        "reading corpora",
        "model.layers=6 [bold], seed 1",
        "… step 120 of 1,000, loss 5.312 ",
        "1 of 2 units, 1 diverged",
        FINISHING_MESSAGE[:40],
    ):
        assert words in written.getvalue()


def test_quiet_is_silent_until_the_user_wants_to_stop(capsys):
    with shown.progress_reporter({"a": "a"}, 1.0, console=err(), quiet=True) as show:
        show(started())
        show(training(10))
        show(ended())
    assert capsys.readouterr() == ("", "")
    show(Event("stopping", text="Ctrl-C"))
    assert capsys.readouterr().err == f"{FINISHING_MESSAGE}\n"
