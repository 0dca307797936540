"""How far a run is, seen from another process: what is at work, its loss, what is left."""

import json
import math
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import polars as pl
import pytest

from lnlab.app.watching import RunningUnit, WatchedRun, _seconds_left, sparkline
from lnlab.cli import main

TRAINING = """\
lnlab: 2
title: Runs that take a while
task: {kind: translation, corpus: {kind: toy_german_english, train: 200}, vocabulary: 120, batch_tokens: 96}
model: {kind: encoder_decoder, layers: 1, d_model: 16, heads: 2, d_ff: 32}
placement: post
optimizer: {kind: adam, lr: 3e-3}
train: {steps: 100000, evaluate: {every: 50000}}
seeds: 2
"""


@pytest.mark.parametrize(
    ("values", "width", "line"),
    [
        ((), 8, ""),
        ((5.0,), 8, "▁"),
        ((2.0, 2.0, 2.0), 8, "▁▁▁"),
        (tuple(range(8)), 8, "▁▂▃▄▅▆▇█"),
        (tuple(range(8, 0, -1)), 4, "█▆▃▁"),
        ((0.0, math.nan, 7.0), 3, "▁ █"),
        ((0.0, math.inf, 2.0, 2.0), 2, "▁█"),
        ((math.nan, math.nan), 2, ""),
    ],
)
def test_a_sparkline_has_a_bar_for_the_mean_of_each_window(values, width, line):
    assert sparkline(values, width) == line


def unit(seconds=0.0, **fields):
    return RunningUnit("key", "seed 1", 0, 0, seconds, (), "here", 1)


def results(*runs):
    """Runs as (trajectory, steps, seconds, status)."""
    columns = {"trajectory": pl.String, "steps": pl.Int64, "seconds": pl.Float64, "status": pl.String}
    return SimpleNamespace(runs=pl.DataFrame(runs, schema=columns, orient="row"))


def test_the_time_left_is_what_finished_units_of_each_length_took_shared_by_the_workers():
    ended = [("a", 100, 10.0, "finished"), ("b", 100, 30.0, "finished"), ("c", 0, 2.0, "finished")]
    open_runs = [("d", 100, None, None), ("e", 0, None, None)]
    assert _seconds_left(results(*ended, *open_runs), ["d", "e"], [unit()]) == pytest.approx(20 + 2)
    assert _seconds_left(results(*ended, *open_runs), ["d", "e"], [unit(6.0), unit()]) == pytest.approx((22 - 6) / 2)
    longer = ("f", 400, None, None)
    assert _seconds_left(results(ended[0], longer), ["f"], [unit()]) == pytest.approx(40), "in proportion to its steps"


def test_no_time_left_is_guessed_where_nothing_has_finished_or_nobody_works():
    open_run = ("d", 100, None, None)
    assert _seconds_left(results(open_run), ["d"], [unit()]) is None
    assert _seconds_left(results(("a", 100, 10.0, "finished"), open_run), ["d"], []) is None
    assert _seconds_left(results(("a", 100, 10.0, "finished"), ("e", 0, None, None)), ["e"], [unit()]) is None


def test_lines_say_what_is_at_work_and_that_nobody_is():
    training = RunningUnit("key", "seed 1", 120, 400, 60.0, (4.0, 3.0), "here", 1)
    watched = WatchedRun("xiong_fig3", 10, 4, {"finished": 6, "running": 1}, (training,), 90.0)
    assert list(watched.lines()) == [
        "xiong_fig3: 6 of 10 units, about 1 min 30 s left; runs: 6 finished, 1 running",
        "  seed 1: step 120 of 400, 2 a second, loss 3 █▁",
    ]
    idle = WatchedRun("xiong_fig3", 10, 4, {"finished": 6}, (), None)
    assert list(idle.lines())[1] == "  no worker is at it; lnlab run goes on with it"


def status(spec, store, capsys):
    capsys.readouterr()
    assert main(["status", str(spec), "--store", str(store), "--json"]) == 0
    (experiment,) = json.loads(capsys.readouterr().out)
    return experiment


def test_status_shows_units_at_work_with_their_losses_and_none_once_the_run_is_stopped(tmp_path, capsys):
    spec, store = tmp_path / "training.yaml", tmp_path / "store"
    spec.write_text(TRAINING)
    options = ["--store", str(store), "--workers", "1", "--save-every", "0.3", "-q"]
    run = subprocess.Popen([sys.executable, "-m", "lnlab", "run", str(spec), *options], start_new_session=True)
    try:
        until, running = time.monotonic() + 200, []
        while time.monotonic() < until and run.poll() is None and not (running and running[0]["losses"]):
            time.sleep(0.2)
            running = status(spec, store, capsys)["running"] if list(store.glob("plans/*/plan.json")) else []
        (at_work,) = running
        assert 0 < at_work["done"] < at_work["steps"] == 100_000
        assert len(at_work["losses"]) == at_work["done"]
        assert at_work["steps_per_second"] == pytest.approx(at_work["done"] / at_work["seconds"])
        assert status(spec, store, capsys)["runs"] == {"missing": 1, "running": 1}
    finally:
        run.send_signal(signal.SIGTERM)
        run.wait(timeout=120)
    stopped = status(spec, store, capsys)
    assert stopped["running"] == []
    assert stopped["runs"] == {"interrupted": 1, "missing": 1}


def test_watching_a_store_in_which_nothing_is_left_ends_at_once(tmp_path, capsys):
    spec = tmp_path / "short.yaml"
    spec.write_text(TRAINING.replace("100000", "2").replace("50000", "2"))
    assert main(["run", str(spec), "--store", str(tmp_path / "store"), "-q"]) == 0
    capsys.readouterr()
    assert main(["status", str(spec), "--store", str(tmp_path / "store"), "--watch"]) == 0
    assert capsys.readouterr().out == "nothing is left to do\n"
