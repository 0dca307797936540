import io

import pytest
from rich.console import Console

from lnlab.cli import progress as shown
from lnlab.cli.progress import Lines, Tally


class Clock:
    """A clock that the test moves."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_the_time_left_follows_costs_not_counts():
    clock = Clock()
    tally = Tally(units=2, cost=10.0, clock=clock)
    clock.now += 30
    tally.add("finished", 2.5)
    assert tally.left == pytest.approx(90.0)


def test_nothing_is_promised_before_a_unit_has_ended():
    assert Tally(units=2, cost=10.0).left is None


def test_plain_lines_are_seconds_apart_and_name_what_failed():
    clock = Clock()
    written = io.StringIO()
    lines = Lines(Tally(units=100, cost=100.0, clock=clock), Console(file=written, width=200))
    for unit in range(40):
        clock.now += 0.5
        lines.begins("a", "x")
        lines.ends("a", "failed" if unit == 3 else "finished", 1.0)
    assert written.getvalue().splitlines() == [
        "10 of 100 units, 1 failed; 5.0 s, about 45 s left",
        "20 of 100 units, 1 failed; 10 s, about 40 s left",
        "30 of 100 units, 1 failed; 15 s, about 35 s left",
        "40 of 100 units, 1 failed; 20 s, about 30 s left",
    ]


def test_a_terminal_gets_an_overall_bar_and_a_line_a_worker(monkeypatch):
    written = io.StringIO()
    console = Console(file=written, width=100, force_terminal=True, no_color=True)
    monkeypatch.setattr(shown, "err", lambda: console)
    with shown.progress(2, 2.0) as display:
        display.begins("1", "post, seed 1")
        display.begins("2", "pre, seed 1")
        display.shown.refresh()
        display.ends("1", "diverged", 1.0)
        display.shown.refresh()
    for words in ("post, seed 1", "pre, seed 1", "1 of 2 units, 1 diverged"):
        assert words in written.getvalue()


def test_quiet_is_silent(capsys):
    with shown.progress(1, 1.0, quiet=True) as display:
        display.begins("1", "x")
        display.ends("1", "finished", 1.0)
    assert capsys.readouterr() == ("", "")
