"""What trackers get of a run while it is recorded, and what happens where one of them fails."""

import random

import pytest
import torch

import lnlab
from lnlab.errors import LabError


def record(loop, folder, steps=4, **given):
    given = {"settings": {"optimizer": {"lr": 0.01}}, "seed": 1, "hooks_every": 1, **given}
    rec = lnlab.Recorder(folder, **given)
    model, _ = loop(rec, steps=steps, optimizer=lambda m: torch.optim.AdamW(m.parameters(), lr=1e-3))
    rec.close()
    return model


def recorded_points(folder):
    """``(name, step) -> value`` of curves and of numbers by parameter, as the folder has them."""
    runs = lnlab.open_runs(folder)
    points = {}
    for name in ("loss", "learning_rate"):
        points |= {(f"{s}/{name}", t): v for s, t, v in runs.frame(name).select("split", "step", "value").iter_rows()}
    for name in ("step_gradient_norm", "update_to_weight"):
        points |= {(f"{name}/{p}", t): v for p, t, v in runs.frame(name).select("path", "step", "value").iter_rows()}
    whole: dict[int, float] = {}
    for (name, step), value in points.items():
        if name.startswith("step_gradient_norm"):
            whole[step] = whole.get(step, 0.0) + value**2
    points |= {("train/step_gradient_norm", step): value**0.5 for step, value in whole.items()}
    return {(name.translate(str.maketrans("[]", "__")), step): value for (name, step), value in points.items()}


def test_a_function_gets_every_number_by_a_name_that_trackers_take(tmp_path, loop):
    points = {}

    def log(values, step=None):  # as of wandb.Run and of Trackio, and mlflow.log_metrics
        random.random()
        points.update({(name, step): value for name, value in values.items()})

    random.seed(5)
    exported = record(loop, tmp_path / "a", export=[log])
    state = random.getstate()
    random.seed(5)
    plain = record(loop, tmp_path / "b")
    assert len(points) > 50
    assert points == pytest.approx(recorded_points(tmp_path / "a"))
    assert all(torch.equal(a, b) for a, b in zip(exported.parameters(), plain.parameters(), strict=True))
    assert state == random.getstate()


def test_tensorboard_reads_every_number(tmp_path, loop):
    """By the line of the guide."""
    writers = pytest.importorskip("torch.utils.tensorboard")
    with writers.SummaryWriter(tmp_path / "logs") as writer:
        log = lambda values, step: [writer.add_scalar(name, value, step) for name, value in values.items()]  # noqa: E731
        record(loop, tmp_path / "a", export=[log])
    table = lnlab.read_table(tmp_path / "logs").unpivot(index=["run_name", "step"], variable_name="name").drop_nulls()
    read = {(name, step): value for _, step, name, value in table.iter_rows()}
    assert read == pytest.approx(recorded_points(tmp_path / "a"), rel=1e-6)


def test_a_tracker_that_fails_is_told_once_and_ends_no_training(tmp_path, loop, capsys, golden):
    steps, others = [], []

    def log(values, step):
        if step >= 2:
            raise RuntimeError("the server said no\nand more")
        steps.append(step)

    record(loop, tmp_path / "a", export=[log, lambda values, step: others.append(step)])
    told = [line for line in capsys.readouterr().err.splitlines() if "export" in line]
    assert len(told) == 1
    golden(told[0])
    assert max(steps) == 1
    assert max(others) == 4
    assert lnlab.open_runs(tmp_path / "a").results.runs["status"].to_list() == ["finished"]


def test_one_function_needs_no_list_and_belongs_to_the_recorder(tmp_path, loop, golden):
    steps = []
    log = lambda values, step: steps.append(step)  # noqa: E731
    record(loop, tmp_path / "a", export=log)
    assert max(steps) == 4
    rec = lnlab.Recorder(tmp_path / "b", seed=1)
    with golden.raises(LabError):
        rec(torch.nn.Linear(2, 2), 0, export=[log])
    rec.close()


def test_a_word_is_no_function(tmp_path, golden):
    with golden.raises(LabError):
        lnlab.Recorder(tmp_path / "a", seed=1, export=["wandb"])
    assert not (tmp_path / "a").exists()
