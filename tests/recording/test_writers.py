"""A folder of a run: who writes, what a run that was cut short keeps, and what happens where the folder changes."""

from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
from torch import nn

import lnlab
from lnlab.errors import LabError
from lnlab.outside.foreign_runs import folder as run_folder


@pytest.fixture
def run(tmp_path):
    """A recorder, its model and its optimizer; seeded, so that a second one has the same weights."""

    def make(seed=1, **given):
        torch.manual_seed(seed)
        model = nn.Linear(4, 3)
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        given = {"settings": {"a": 1}, "seed": 1, "hooks_every": 1, **given}
        return lnlab.Recorder(tmp_path / "run", **given), model, opt

    return make


def train(rec, model, opt, steps, first=1):
    for step in range(first, first + steps):
        model(torch.ones(2, 4)).square().mean().backward()
        opt.step()
        opt.zero_grad()
        rec(model, loss=float(step))


def left(rec):
    """As after a kill: nothing is written any more, and the lock is free."""
    rec._abandon()


def steps_of(rec):
    return lnlab.open_runs(rec.folder.path, ended=True).frame("loss")["step"].to_list()


def test_a_loop_may_change_its_working_folder(tmp_path, monkeypatch, loop):
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "first")
    rec = lnlab.Recorder("runs/a", seed=1)
    loop(rec, steps=4, after=lambda *_: monkeypatch.chdir(tmp_path / "second"))
    rec.close()
    assert lnlab.open_runs(tmp_path / "first" / "runs" / "a").frame("loss")["step"].to_list() == [1, 2, 3, 4]
    assert list((tmp_path / "second").iterdir()) == []


@pytest.mark.parametrize("ending", ["killed", "failed", "interrupted"])
def test_a_run_cut_short_before_its_first_checkpoint_begins_again(run, ending, capsys):
    held_out = {"batches": [torch.ones(2, 4)], "loss": lambda m, x: m(x).square().mean(), "every": 5}
    for steps in (13, 30, 8):
        rec, model, opt = run(probes=["displacement", "gradient_norm"], **held_out)
        rec.attach(model, opt)
        rec(model)
        train(rec, model, opt, steps)
        left(rec) if ending == "killed" else rec.close(ending, "why")
        assert steps_of(rec) == list(range(1, steps + 1))
        runs = lnlab.open_runs(rec.folder.path, ended=True)
        assert runs.results.runs["done"].to_list() == [steps]
        assert runs.frame("gradient_norm")["step"].unique().sort().to_list() == list(range(0, steps + 1, 5))
    assert capsys.readouterr().err.count("training begins again, and the 30 steps of a run cut short are dropped") == 1


def test_a_run_that_goes_on_without_its_step_or_is_finished_is_refused_and_left_as_it_was(run, golden):
    rec, model, opt = run()
    train(rec.attach(model, opt), model, opt, 9)
    left(rec)
    rec, *_ = run()
    for p in model.parameters():
        p.requires_grad_(True)  # the weights of step 9, of a checkpoint
    with golden.raises(LabError):
        rec.attach(model, opt)
    left(rec)
    rec, _, _ = run()
    rec.attach(model, opt, step=9).close()
    rec, model, opt = run()
    with golden.raises(LabError):
        rec.attach(model, opt)
    left(rec)
    assert lnlab.open_runs(rec.folder.path).results.runs["status"].to_list() == ["finished"]


def test_a_loop_without_hooks_begins_again_by_its_first_step(run):
    for steps in (9, 4):
        rec, model, _ = run()
        for step in range(1, steps + 1):
            rec(model, step, loss=1.0)
        left(rec)
        assert steps_of(rec) == list(range(1, steps + 1))


@pytest.mark.parametrize("removed", [1, 4, "last", (1, 2, 3)])
def test_a_part_that_is_removed_loses_only_its_own_rows(run, monkeypatch, removed, golden):
    monkeypatch.setattr(run_folder, "PART_BYTES", 2000)
    rec, model, opt = run()
    train(rec.attach(model, opt), model, opt, 40)
    left(rec)
    rec, *_ = run()
    train(rec.attach(model, opt, step=30), model, opt, 3, first=31)  # a cut
    rec.close()
    count = len(list(rec.folder.path.glob("part-*.parquet")))
    assert count > 6
    numbers = (count,) if removed == "last" else (removed,) if isinstance(removed, int) else removed
    gone = set()
    for number in numbers:
        part = rec.folder.path / f"part-{number}.parquet"
        whole = set(steps_of(rec))
        content = part.read_bytes()
        part.write_bytes(content[:-50])
        with golden.raises(LabError):
            lnlab.open_runs(rec.folder.path)
        part.unlink()
        gone |= whole - set(steps_of(rec))
    assert gone
    before = steps_of(rec)
    done = 33
    rec, *_ = run()
    train(rec.attach(model, opt, step=done), model, opt, 40, first=done + 1)
    rec.close()
    assert steps_of(rec) == [*before, *range(done + 1, done + 41)]


@pytest.mark.parametrize("what", ["run", "run/tail.jsonl", "run/run.json", "replaced"])
def test_what_is_removed_while_a_run_goes_on_is_told(run, tmp_path, what, monkeypatch):
    rec, model, opt = run()
    train(rec.attach(model, opt), model, opt, 5)
    if what == "run/run.json":  # it is written again
        (tmp_path / what).unlink()
        train(rec, model, opt, 5, first=6)
        rec.close()
        assert steps_of(rec) == list(range(1, 11))
        return
    if what == "run/tail.jsonl":
        (tmp_path / what).unlink()
    else:
        (tmp_path / "run").rename(tmp_path / "moved")
    if what == "replaced":
        monkeypatch.setattr("lnlab.outside.recorder.recorder._WRITING", {})
        other, *its = run()
        train(other.attach(*its), *its, 2)
    with pytest.raises(LabError, match=r"run: cannot be written: .*; name another folder"):
        train(rec, model, opt, 1, first=6)
    if what == "replaced":
        assert steps_of(other) == [1, 2]
        left(other)
    left(rec)


def test_a_second_recorder_of_a_notebook_takes_the_folder_over(run, golden):
    rec, model, opt = run()
    train(rec.attach(model, opt), model, opt, 3)
    again, model, opt = run()
    train(again.attach(model, opt), model, opt, 2)
    with golden.raises(LabError):
        rec(model, loss=1.0)
    again.close()
    assert steps_of(again) == [1, 2]


def test_a_record_that_an_interrupt_left_without_its_call_is_not_doubled(run, monkeypatch):
    """Ctrl-C in a cell comes after the line is written and before it counts; then training goes on."""
    rec, model, opt = run(hooks=())
    rec.attach(model, opt)
    train(rec, model, opt, 2)
    open_file = Path.open

    @contextmanager
    def interrupted(path, *given, **more):
        with open_file(path, *given, **more) as file:
            yield file
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Path, "open", interrupted)
        with pytest.raises(KeyboardInterrupt):
            train(rec, model, opt, 1, first=3)
    train(rec, model, opt, 2, first=4)
    rec.close()
    assert steps_of(rec) == [1, 2, 3, 4, 5]
