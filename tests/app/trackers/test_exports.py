"""When runs are shown, and what happens to a run whose tracker refuses."""

import threading
from dataclasses import dataclass, field, replace

import polars as pl
import pytest

import lnlab
from lnlab.app.exports import OpenTrackers, export_finished, exporting_units, tracked_runs
from lnlab.errors import LabError
from lnlab.execute.unit import Event
from lnlab.store.store import Store
from lnlab.trackers import tracker as trackers
from lnlab.trackers.tracked_run import TrackedRun
from lnlab.trackers.tracker import Destination

PLACE = Destination("tensorboard", "here")


@dataclass
class Recorder:
    """A tracker that remembers."""

    shown: dict[str, TrackedRun] = field(default_factory=dict)
    arrived: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    refusal: Exception | None = None

    def show(self, run):
        if self.refusal:
            raise self.refusal
        self.shown[run.key] = run
        self.arrived.release()

    def show_verdicts(self, verdicts):
        raise AssertionError


@pytest.fixture
def store(trained):
    return Store(trained / "store")


def test_a_run_is_shown_while_others_go_on(store, curves):
    recorder, stored = Recorder(), store.last()
    runs = store.results(stored.digest).runs
    with exporting_units(OpenTrackers({PLACE: recorder}), store, stored) as follow:
        follow(Event("started", unit=runs["trajectory"][0]))
        follow(Event("finished", unit=runs["trajectory"][2]))
        assert recorder.arrived.acquire(timeout=30)
        assert recorder.shown.keys() == {runs["run"][2]}
    (run,) = recorder.shown.values()
    assert {(name, step): value for name, step, value in run.curves} == curves[run.key]


def test_what_a_refusing_tracker_lacks_is_shown_at_the_end_or_told(store):
    recorder, stored = Recorder(refusal=OSError("the server is away.\nmore")), store.last()
    results = store.results(stored.digest)
    with exporting_units(OpenTrackers({PLACE: recorder}), store, stored) as follow:
        for unit in results.runs["trajectory"]:
            follow(Event("finished", unit=unit))
    with pytest.raises(LabError) as refused:
        export_finished(OpenTrackers({PLACE: recorder}), store, stored, results)
    assert str(refused.value) == (
        "--export tensorboard:here: the server is away; the results are in the store: run again to export them"
    )
    recorder.refusal = None
    export_finished(OpenTrackers({PLACE: recorder}), store, stored, results)
    assert recorder.shown.keys() == set(results.runs["run"])


def test_a_run_that_was_interrupted_waits_for_its_rest(store):
    results = store.results(store.last().digest)
    cut = results.runs.with_columns(status=pl.when(pl.col("seed") == 1).then(pl.lit("interrupted")).otherwise("status"))
    assert {run.settings["seed"] for run in tracked_runs(replace(results, runs=cut))} == {2}


def test_the_digest_of_a_run_is_of_its_content_and_not_of_its_time(store):
    run = next(tracked_runs(store.results(store.last().digest)))
    assert replace(run, seconds=9.0).digest == run.digest
    assert replace(run, curves=[*run.curves, ("train/loss", 99, float("nan"))]).digest != run.digest


def test_trackers_that_are_unknown_or_not_installed_are_refused_before_anything_runs(trained, tmp_path, monkeypatch):
    with pytest.raises(LabError, match="'tensorbord' is no tracker; did you mean 'tensorboard'"):
        lnlab.run(trained / "tiny.yaml", store=tmp_path / "none", export=["tensorbord"])
    monkeypatch.setattr(trackers, "find_spec", lambda name: None)
    with pytest.raises(LabError) as refused:
        lnlab.run(trained / "tiny.yaml", store=tmp_path / "none", export=["mlflow:sqlite:///x.db"])
    assert str(refused.value) == (
        "--export mlflow: the package mlflow is not installed; install it with pip install 'lnlab[mlflow]'"
    )
    assert not (tmp_path / "none").exists()
