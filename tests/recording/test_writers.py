"""Full disks, second writers, forked children and dying ranks: what a call returned from is there, and never mixed.

Each script runs in a process of its own, as limits of a process and forks do not end with a test.
"""

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

import lnlab
from lnlab.errors import LabError
from lnlab.recorded import folder as run_folder

BEGINNING = """
import os, random, resource, signal, sys, time
import torch
import torch._dynamo  # which every optimizer imports: once for all forks
from torch import nn
import lnlab
from lnlab import files
from lnlab.recorded import folder as run_folder

files.sync = lambda *_: None
torch.set_num_threads(1)
run_folder.PART_BYTES = 3000
folder, trials = sys.argv[1], int(sys.argv[2])

def made(path, **given):
    torch.manual_seed(1)
    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=1e-3)
    for p in model.parameters():
        p.grad = torch.ones_like(p)  # no pass: a child of a fork that has made one may stand still in the next
    rec = lnlab.Recorder(path, settings={"lr": 1e-3}, seed=1, hooks=("gradients",), hooks_every=1, **given)
    return model, opt, rec.attach(model, opt)
"""
FULL = """
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
for trial in range(trials):
    draw = random.Random(trial)
    model, opt, rec = made(f"{folder}/{trial}", keep_going=trial % 2 == 0)
    full, free = sorted(draw.sample(range(2, 60), 2))
    raised = []
    for step in range(1, 61):
        if step == full:  # every file of this process: a write takes what fits, and the next one is refused
            size = os.path.getsize(f"{folder}/{trial}/tail.jsonl")
            resource.setrlimit(resource.RLIMIT_FSIZE, (size + draw.randrange(700), hard))
        if step == free:
            resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        opt.step()
        try:
            rec(model, loss=float(step))
        except lnlab.LabError as error:
            assert "cannot be written" in str(error) and "\\n" not in str(error), error
            raised.append(step)
    rec.close()
    loss = dict(lnlab.open_runs(f"{folder}/{trial}").frame("loss").select("step", "value").rows())
    assert loss == {s: float(s) for s in range(1, 61) if s in loss or s not in raised}, (trial, loss)
    assert trial % 2 or not raised
    norms = lnlab.open_runs(f"{folder}/{trial}").frame("step_gradient_norm")
    assert norms.height == 120
    print(trial, "raised" if raised else "went on", flush=True)
"""
RACE = """
for trial in range(trials):
    begin = time.monotonic() + 0.05
    children = []
    for tag in (1, 2):
        pid = os.fork()
        if pid == 0:
            while time.monotonic() < begin:
                pass
            try:
                model, opt, rec = made(f"{folder}/{trial}")
                for step in range(1, 31):
                    opt.step()
                    rec(model, loss=float(tag), **{f"q{tag}": float(step)})
                rec.close()
            except lnlab.LabError as error:
                words = "another process records into this folder", "training begins again"
                os._exit(10 if any(word in str(error) for word in words) else 11)
            os._exit(tag)
        children.append(pid)
    codes = sorted(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children)
    assert codes in ([1, 10], [2, 10]), codes
    print(trial, "one of two", codes[0], flush=True)  # it is read elsewhere: Polars stands still after a fork
"""
FORKS = """
for trial in range(trials):
    draw = random.Random(trial)
    model, opt, rec = made(f"{folder}/{trial}")
    step = 0
    for count in (draw.randrange(1, 9), draw.randrange(1, 9)):
        for _ in range(count):
            step += 1
            opt.step()
            rec(model, loss=float(step))
        pid = os.fork()
        if pid == 0:
            refused = 0
            for call in range(5):
                opt.step()
                try:
                    rec(model, loss=100.0)
                except lnlab.LabError as error:
                    refused += "another process has made this recorder" in str(error)
            rec.close()
            os._exit(refused)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 5
    lasting = os.fork()  # a child that lives longer keeps nobody from going on with the folder
    if lasting == 0:
        time.sleep(60)
        os._exit(0)
    rec.close()
    loss = lnlab.open_runs(f"{folder}/{trial}").frame("loss")
    assert loss["value"].to_list() == [float(s) for s in range(1, step + 1)]
    lnlab.Recorder(f"{folder}/{trial}", settings={"lr": 1e-3}, seed=1).close()
    os.kill(lasting, signal.SIGKILL)
    os.waitpid(lasting, 0)
    print(trial, "refused", flush=True)
"""


@pytest.mark.parametrize("trials", [3, pytest.param(20, marks=pytest.mark.torture)])
@pytest.mark.parametrize(
    ("script", "words"),
    [(FULL, {"raised", "went on"}), (RACE, {"one of"}), (FORKS, {"refused"})],
    ids=["full disk", "two writers", "forked children"],
)
def test_what_was_told_to_be_kept_is_there_and_nothing_else(tmp_path, script, words, trials):
    command = [sys.executable, "-W", "ignore", "-c", BEGINNING + script, str(tmp_path), str(trials)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    lines = done.stdout.splitlines()
    assert len(lines) == trials
    assert {" ".join(line.split()[1:3]) for line in lines} == words
    if script is RACE:
        for line in lines:
            trial, *_, tag = line.split()
            runs = lnlab.open_runs(tmp_path / trial)
            assert runs.frame("loss").select("step", "value").rows() == [(s, float(tag)) for s in range(1, 31)]
            assert runs.frame(f"q{tag}")["value"].to_list() == [float(s) for s in range(1, 31)]
            assert set(runs.results.tables["curves"]["quantity"]) == {"loss", f"q{tag}", "learning_rate"}
    if script is FULL:
        told = [line for line in done.stderr.splitlines() if "cannot be written" in line]
        assert 0 < len(told) <= (trials + 1) / 2  # one line a disk
        assert all("; training goes on, and records wait in memory" in line for line in told)


@pytest.mark.parametrize("dying", [1, pytest.param(0, marks=pytest.mark.nightly)])
def test_of_two_ranks_one_dies(tmp_path, dying):
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = str(s.getsockname()[1])
    script = str(Path(__file__).parent / "two_processes.py")
    command = [sys.executable, script, f"dying-{dying}"]
    processes = [subprocess.Popen([*command, str(r), port, str(tmp_path / "run")]) for r in range(2)]
    codes = [process.wait(180) for process in processes]
    assert codes[dying] == 9
    runs = lnlab.open_runs(tmp_path / "run", ended=True)
    assert runs.frame("loss")["step"].to_list() == [1, 2, 3, 4]
    assert runs.frame("step_gradient_norm")["step"].unique().sort().to_list() == [1, 2, 3, 4]
    status = json.loads((tmp_path / "run/run.json").read_text())["status"]
    assert status == ("running" if dying == 0 else "failed")


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


def test_a_run_that_goes_on_without_its_step_or_is_finished_is_refused_and_left_as_it_was(run):
    rec, model, opt = run()
    train(rec.attach(model, opt), model, opt, 9)
    left(rec)
    rec, *_ = run()
    for p in model.parameters():
        p.requires_grad_(True)  # the weights of step 9, of a checkpoint
    with pytest.raises(LabError, match="ends at step 9 and training begins again; say attach"):
        rec.attach(model, opt)
    left(rec)
    rec, _, _ = run()
    rec.attach(model, opt, step=9).close()
    rec, model, opt = run()
    with pytest.raises(LabError, match="ends at step 9 and training begins again"):
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
def test_a_part_that_is_removed_loses_only_its_own_rows(run, monkeypatch, removed):
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
        with pytest.raises(LabError, match=rf"part-{number}.parquet: is a part that cannot be read; remove it"):
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
        monkeypatch.setattr("lnlab.recording.recorder._WRITING", {})
        other, *its = run()
        train(other.attach(*its), *its, 2)
    with pytest.raises(LabError, match=r"run: cannot be written: .*; name another folder"):
        train(rec, model, opt, 1, first=6)
    if what == "replaced":
        assert steps_of(other) == [1, 2]
        left(other)
    left(rec)


def test_a_second_recorder_of_a_notebook_takes_the_folder_over(run):
    rec, model, opt = run()
    train(rec.attach(model, opt), model, opt, 3)
    again, model, opt = run()
    train(again.attach(model, opt), model, opt, 2)
    with pytest.raises(LabError, match="the recorder is closed"):
        rec(model, loss=1.0)
    again.close()
    assert steps_of(again) == [1, 2]
