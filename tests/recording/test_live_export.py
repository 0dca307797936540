"""What trackers hold of a run that the recorder has sent them, and what it does where one of them fails."""

import json
from pathlib import Path

import pytest
import torch

import lnlab
from lnlab.errors import LabError

FAKE = """
import json, pathlib
CALLS = pathlib.Path(__file__).with_name("calls.jsonl")
def note(*words):
    with CALLS.open("a") as file:
        file.write(json.dumps(words) + "\\n")
class Run:
    summary = {}
    def log(self, values, step=None):
        if BROKEN and step >= 2:
            raise RuntimeError("the server said no\\nand more")
        note("log", step, values)
    def finish(self, *code):
        note("finish", *code)
def Settings(**given):
    return None
def init(**given):
    note("init", {k: v for k, v in given.items() if k != "dir"})
    return Run()
"""


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """Makes a package of a tracker that notes its calls; returns what it has noted."""

    def make(name, *, broken=False):
        monkeypatch.delitem(__import__("sys").modules, name, raising=False)
        monkeypatch.delitem(__import__("sys").modules, f"lnlab.trackers.{name}_runs", raising=False)
        package = tmp_path / "packages" / name
        package.mkdir(parents=True)
        (package / "__init__.py").write_text(f"BROKEN = {broken}\n{FAKE}")
        monkeypatch.syspath_prepend(str(tmp_path / "packages"))
        return lambda: [json.loads(line) for line in (package / "calls.jsonl").read_text().splitlines()]

    return make


def record(loop, folder, steps=4, **given):
    given = {"settings": {"optimizer": {"lr": 0.01}}, "seed": 1, "hooks_every": 1, **given}
    rec = lnlab.Recorder(folder, **given)
    model, _ = loop(rec, steps=steps, optimizer=lambda m: torch.optim.AdamW(m.parameters(), lr=1e-3))
    rec.close()
    return model


def recorded_points(folder, *by_parameter):
    """``(name, step) -> value`` of curves and of numbers by parameter, as the folder has them."""
    runs = lnlab.open_runs(folder)
    points = {}
    for name in ("loss", "learning_rate"):
        points |= {(f"{s}/{name}", t): v for s, t, v in runs.frame(name).select("split", "step", "value").iter_rows()}
    for name in by_parameter or ("step_gradient_norm", "update_to_weight"):
        points |= {(f"{name}/{p}", t): v for p, t, v in runs.frame(name).select("path", "step", "value").iter_rows()}
    whole: dict[int, float] = {}
    for (name, step), value in points.items():
        if name.startswith("step_gradient_norm"):
            whole[step] = whole.get(step, 0.0) + value**2
    return points | {("train/step_gradient_norm", step): value**0.5 for step, value in whole.items()}


def events_of(folder):
    from tensorboard.backend.event_processing.plugin_event_accumulator import EventAccumulator

    events = EventAccumulator(str(folder), {"tensors": 0})
    events.Reload()
    return {
        (tag, point.step): point.tensor_proto.float_val[0]
        for tag in events.Tags()["tensors"]
        if "/" in tag
        for point in events.Tensors(tag)
        if point.tensor_proto.float_val
    }


def test_tensorboard_reads_every_number(tmp_path, loop):
    pytest.importorskip("tensorboard", reason="needs TensorBoard: pip install 'lnlab[tensorboard]'")
    record(loop, tmp_path / "runs" / "a", export=["tensorboard", f"tensorboard:{tmp_path / 'logs'}"])
    expected = recorded_points(tmp_path / "runs" / "a")
    assert len(expected) > 50
    assert events_of(tmp_path / "runs" / "a" / "tensorboard") == pytest.approx(expected, rel=1e-6)
    assert events_of(tmp_path / "logs" / "a") == pytest.approx(expected, rel=1e-6)


def test_a_run_that_is_taken_up_again_takes_the_place_of_what_came_after_its_checkpoint(tmp_path, loop):
    pytest.importorskip("tensorboard", reason="needs TensorBoard: pip install 'lnlab[tensorboard]'")
    folder = tmp_path / "a"
    record(loop, folder, steps=6, export=["tensorboard"])
    rec = lnlab.Recorder(folder, settings={"optimizer": {"lr": 0.01}}, seed=1, export=["tensorboard"], hooks=())
    model = torch.nn.Linear(1, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    rec.attach(model, optimizer, step=3)
    optimizer.step()
    rec(model, 4, loss=9.0)
    rec.close()
    losses = {step: value for (name, step), value in events_of(folder / "tensorboard").items() if name == "train/loss"}
    assert losses.keys() == {1, 2, 3, 4}
    assert losses[4] == 9.0


@pytest.mark.filterwarnings("ignore")
def test_mlflow_reads_every_number(tmp_path, loop):
    mlflow = pytest.importorskip("mlflow", reason="needs MLflow: pip install 'lnlab[mlflow]'")
    uri = f"sqlite:///{tmp_path / 'ml.db'}"
    record(loop, tmp_path / "runs" / "a", export=[f"mlflow:{uri}"], hooks=["gradients"])
    client = mlflow.MlflowClient(uri)
    (run,) = client.search_runs([client.get_experiment_by_name("runs").experiment_id])
    assert (run.info.run_name, run.info.status) == ("a", "FINISHED")
    assert run.data.params == {"optimizer.lr": "0.01", "seed": "1"}
    points = recorded_points(tmp_path / "runs" / "a", "step_gradient_norm")
    names = str.maketrans("[]", "__")  # MLflow takes no brackets
    expected = {name.translate(names): value for (name, step), value in points.items() if step == 4}
    assert {name: run.data.metrics[name] for name in expected} == pytest.approx(expected)
    assert [m.step for m in client.get_metric_history(run.info.run_id, "train/loss")] == [1, 2, 3, 4]


@pytest.mark.parametrize(("name", "end"), [("wandb", ["finish", 0]), ("trackio", ["finish"])])
def test_wandb_and_trackio_get_every_number_and_the_end(tmp_path, loop, fake, monkeypatch, name, end):
    monkeypatch.setenv("WANDB_MODE", "offline")
    calls = fake(name)
    record(loop, tmp_path / "runs" / "a", export=[f"{name}:mine"])
    (_, begun), *logged, finished = calls()
    assert begun["project"] == "mine"
    assert begun["config"] == {"optimizer.lr": 0.01, "seed": 1}
    assert begun["name"].split()[0] == "a"
    assert finished == end
    points = {(n, step): v for word, step, values in logged if word == "log" for n, v in values.items()}
    assert points == pytest.approx(recorded_points(tmp_path / "runs" / "a"))


def test_a_tracker_that_fails_is_told_once_and_ends_no_training(tmp_path, loop, fake, capsys):
    calls = fake("trackio", broken=True)
    exported = record(loop, tmp_path / "a", export=["trackio"])
    plain = record(loop, tmp_path / "b")
    assert all(torch.equal(a, b) for a, b in zip(exported.parameters(), plain.parameters(), strict=True))
    told = [line for line in capsys.readouterr().err.splitlines() if "trackio" in line]
    assert len(told) == 1
    assert "trackio:lnlab: the server said no; nothing more is sent there, and the run is whole in" in told[0]
    assert max(step for word, step, *_ in calls()[1:] if word == "log") == 1
    assert lnlab.open_runs(tmp_path / "a").results.runs["status"].to_list() == ["finished"]


def test_what_is_not_installed_or_unknown_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr("lnlab.trackers.tracker.find_spec", lambda name: None)
    with pytest.raises(LabError, match=r"export trackio: the package trackio is not installed; .*'lnlab\[trackio\]'"):
        lnlab.Recorder(tmp_path / "a", seed=1, export=["trackio"])
    with pytest.raises(LabError, match=r"export: 'tensorbord' is no tracker; did you mean 'tensorboard'"):
        lnlab.Recorder(tmp_path / "a", seed=1, export=["tensorbord"])
    assert not Path(tmp_path / "a").exists()
