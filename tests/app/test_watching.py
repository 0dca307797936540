"""How far a run is, seen from another process: what is at work, its loss, what is left."""

import math
import statistics
from types import SimpleNamespace

import polars as pl
import pytest

from lnlab.app.watching import RunningUnit, WatchedRun, expected_seconds, last_spike, sparkline
from lnlab.cli import main
from lnlab.execute import trainer
from lnlab.store.plans import plan_tables
from lnlab.store.process_identity import ProcessIdentity
from lnlab.store.records.record import Record
from lnlab.store.records.records import StoreReader
from lnlab.store.running_work import PlanWatch, RunningWork
from lnlab.store.store import Store
from lnlab.store.unit import StoreUnit
from lnlab.tables import LivePoint
from tests.support.this_process import NO_WORKERS
from tests.support.toy_specs import toy_spec

SHORT = toy_spec(
    task={"vocabulary": 120, "batch_tokens": 96},
    optimizer={"lr": 3e-3},
    train={"steps": 2, "evaluate": {"every": 2}},
    seeds=2,
)

HOLDER = ProcessIdentity("here", "boot", 1, None)


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
    return RunningUnit(RunningWork("key", HOLDER, 0, seconds, {}), "seed 1", 0)


def results(*runs):
    """Runs as (trajectory, steps, seconds, status)."""
    columns = {"trajectory": pl.String, "steps": pl.Int64, "seconds": pl.Float64, "status": pl.String}
    return SimpleNamespace(runs=pl.DataFrame(runs, schema=columns, orient="row"))


def test_the_time_left_is_what_finished_units_of_each_length_took_shared_by_the_workers():
    ended = [("a", 100, 10.0, "finished"), ("b", 100, 30.0, "finished"), ("c", 0, 2.0, "finished")]
    open_runs = [("d", 100, None, None), ("e", 0, None, None)]
    assert expected_seconds(results(*ended, *open_runs), ["d", "e"], [unit()]) == pytest.approx(20 + 2)
    assert expected_seconds(results(*ended, *open_runs), ["d", "e"], [unit(6.0), unit()]) == pytest.approx((22 - 6) / 2)
    longer = ("f", 400, None, None)
    assert expected_seconds(results(ended[0], longer), ["f"], [unit()]) == pytest.approx(40), (
        "in proportion to its steps"
    )


def test_no_time_left_is_guessed_where_nothing_has_finished_or_nobody_works():
    open_run = ("d", 100, None, None)
    assert expected_seconds(results(open_run), ["d"], [unit()]) is None
    assert expected_seconds(results(("a", 100, 10.0, "finished"), open_run), ["d"], []) is None
    assert expected_seconds(results(("a", 100, 10.0, "finished"), ("e", 0, None, None)), ["e"], [unit()]) is None


@pytest.mark.parametrize(
    ("values", "step"),
    [
        ((), None),
        ((1.0, 9.0), None),  # one value before it says nothing
        ((1.0, 1.0, 1.4), None),
        ((1.0, 1.0, 1.6), 20),
        ((1.0, 1.0, 1.6, 1.0, 1.0), 20),
        ((1.0, 1.0, 1.6, 1.0, 1.0, math.nan), 50),
        ((1.0, 1.0, math.inf, 1.0), 20),
        ((1.0, math.nan, 9.0, 9.0), 30),  # 9.0 is above 1.5 times the median of 1.0 and 9.0
        ((-1.0, 1.0, -4.0), 20),
        (tuple([1.0] * 30 + [4.0] * 30), 400),  # the level counts as usual once it fills half of the 20 before
        (tuple([3.0] + [1.0] * 20 + [2.0]), 210),
    ],
)
def test_a_jump_is_above_what_the_median_of_the_twenty_before_allows(values, step):
    by_hand = None
    for i, value in enumerate(values):
        before = sorted(abs(v) for v in values[max(0, i - 20) : i] if math.isfinite(v))
        if len(before) > 1 and (not math.isfinite(value) or abs(value) > 1.5 * statistics.median(before)):
            by_hand = 10 * i
    assert last_spike([10 * i for i in range(len(values))], values, 1.5) == by_hand
    assert by_hand == step


def test_lines_say_what_is_at_work_and_that_nobody_is(golden):
    curves = {
        "loss": [(118, 4.0), (119, 3.0)],
        "gradient norm": [(117, 1.0), (118, 1.0), (119, 8.0)],
    }
    training = RunningUnit(RunningWork("key", HOLDER, 120, 60.0, curves), "seed 1", 400)
    watched = WatchedRun("xiong_fig3", 10, 4, {"finished": 6, "running": 1}, (training,), 90.0)
    assert list(watched.lines()) == [
        "xiong_fig3: 6 of 10 units, about 1 min 30 s left; runs: 6 finished, 1 running",
        "  seed 1: step 120 of 400, 2 a second, loss 3 █▁",
        "    gradient norm 8 ▁▁█ ! jumps at step 119",
    ]
    idle = WatchedRun("xiong_fig3", 10, 4, {"finished": 6}, (), None)
    golden(list(idle.lines())[1])


@pytest.fixture(scope="module")
def short_run(tmp_path_factory):
    """A folder with a spec of two runs of two updates, and its store."""
    folder, shown = tmp_path_factory.mktemp("short"), []
    spec = folder / "short.yaml"
    spec.write_text(SHORT)
    with pytest.MonkeyPatch.context() as patch:
        for place, name, instead in (*NO_WORKERS, (trainer, "SHOW_EVERY", -1)):
            patch.setattr(place, name, instead)
        patch.setattr(StoreUnit, "show", lambda unit, point, of=StoreUnit.show: (shown.append(point), of(unit, point)))
        assert main(["run", str(spec), "--store", str(folder / "store"), "-q"]) == 0
    assert [point.step for point in shown] == [0, 1, 0, 1], "after each update, as often as it may"
    assert all(0 < point.loss < 10 and point.gradient_norm > 0 for point in shown)
    return folder


def test_watching_a_store_in_which_nothing_is_left_ends_at_once(short_run, capsys):
    capsys.readouterr()
    assert main(["watch", str(short_run), "--store", str(short_run / "store")]) == 0
    assert capsys.readouterr().out == "short: 2 of 2 units; runs: 2 finished\n"


def point(step, loss=1.0, norm=1.0, seconds=1.0):
    return LivePoint(step, loss, norm, seconds)


def test_a_look_reads_what_is_new(short_run, monkeypatch):
    """Committed stretches are read once, and of a live file the lines behind those that were read."""
    root = short_run / "store"
    store = Store(root)
    stored = store.last()
    tables = plan_tables(root, stored)
    longer = {**tables, "runs": tables["runs"].with_columns(steps=pl.lit(9, pl.Int64))}  # both lack seven updates
    read = []
    monkeypatch.setattr(Record, "read", lambda record, name, of=Record.read: read.append(name) or of(record, name))
    watch = PlanWatch(root, longer)
    assert len(watch.look().lacking) == 2
    assert read
    key = tables["runs"]["trajectory"][0]
    unit = store.open_unit(key)
    unit.show(point(2, 3.0))
    (work,) = watch.look().running
    assert [step for step, _ in work.curves["loss"]] == [0, 1, 2]
    assert work.curves["loss"][-1] == (2, 3.0)
    read.clear()
    unit.show(point(5, 2.0, 7.0, seconds=4.0))
    with (unit.folder / "live.jsonl").open("a") as file:
        file.write("[7, 1.0,")  # a line that is being written
    (work,) = watch.look().running
    assert work.curves["loss"][-1] == (5, 2.0)
    assert work.curves["gradient norm"][-1] == (5, 7.0)
    assert (work.steps, read) == (5, [])
    assert store.live(key) == point(5, 2.0, 7.0, seconds=4.0)
    unit.abandon()
    assert store.live(key) is None
    settled = PlanWatch(root, tables)
    settled.look()
    monkeypatch.setattr(StoreReader, "_read", lambda *_: pytest.fail("read again"))
    assert settled.look().results.runs["status"].to_list() == ["finished", "finished"]
