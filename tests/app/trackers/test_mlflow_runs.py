"""What MLflow itself reads from what was exported, out of a local database."""

from dataclasses import replace
from importlib.util import find_spec

import pytest

import lnlab
from lnlab.app.exports import tracked_runs

# MLflow takes seconds to import: only where its tests run, and not where they are collected.
pytestmark = [
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(not find_spec("mlflow"), reason="needs MLflow: pip install 'lnlab[mlflow]'"),
    pytest.mark.skipif(
        not find_spec("sqlalchemy"), reason="needs what MLflow keeps a local database with: pip install 'lnlab[mlflow]'"
    ),
]


def open_mlflow(uri, name):
    from lnlab.trackers import mlflow_runs

    return mlflow_runs.open_mlflow(uri, name)


@pytest.fixture(scope="module")
def uri(tmp_path_factory):
    """A database; making its tables takes seconds."""
    return f"sqlite:///{tmp_path_factory.mktemp('mlflow')}/tracked.db"


def runs_of(uri, experiment):
    from mlflow import MlflowClient

    client = MlflowClient(uri)
    return client, client.search_runs([client.get_experiment_by_name(experiment).experiment_id])


def test_curves_settings_and_verdicts_are_read_back(export, curves, uri):
    outcome = export(f"mlflow:{uri}")
    client, runs = runs_of(uri, "tiny")
    assert {run.data.tags["lnlab.run"] for run in runs} == curves.keys()
    for run in runs:
        shown = {
            (name, point.step): point.value
            for name in run.data.metrics
            for point in client.get_metric_history(run.info.run_id, name)
        }
        assert shown == curves[run.data.tags["lnlab.run"]]
        assert run.info.status == "FINISHED"
        assert run.data.params["optimizer.lr"] == "0.01"
        assert f"seed {run.data.params['seed']}" in run.info.run_name
    tags = client.get_experiment_by_name("tiny").tags
    assert tags["verdict.learns"] == outcome.verdicts[0].verdict
    assert "The training loss falls." in tags["mlflow.note.content"]


def test_a_second_export_writes_nothing(export, uri):
    export(f"mlflow:{uri}")
    before = {run.info.run_id: run.info.end_time for run in runs_of(uri, "tiny")[1]}
    export(f"mlflow:{uri}")
    assert {run.info.run_id: run.info.end_time for run in runs_of(uri, "tiny")[1]} == before


def test_half_a_run_and_an_older_one_give_way_to_the_whole(trained, uri):
    tracker = open_mlflow(uri, "replaced")
    (run, *_) = tracked_runs(lnlab.results(trained / "tiny.yaml", trained / "store"))
    tracker.show(replace(run, curves=run.curves[:1]))
    client, (older,) = runs_of(uri, "replaced")
    half = client.create_run(older.info.experiment_id, tags={"lnlab.run": run.key})
    client.set_terminated(half.info.run_id, "FAILED")
    tracker.show(run)
    _, (left,) = runs_of(uri, "replaced")
    assert left.info.run_id not in (older.info.run_id, half.info.run_id)
    assert left.data.tags["lnlab.rows"] == run.digest


def test_of_two_that_were_written_at_once_one_is_kept(trained, uri):
    first, second = open_mlflow(uri, "twice"), open_mlflow(uri, "twice")
    (run, *_) = tracked_runs(lnlab.results(trained / "tiny.yaml", trained / "store"))
    same, second_same = first._same, second._same
    object.__setattr__(second, "_same", lambda run: [] if not same(run)[1:] else second_same(run))
    first.show(run)
    second.show(run)
    assert len(runs_of(uri, "twice")[1]) == 1
