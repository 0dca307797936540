"""Recorded runs whose process, disk or partner fails: what a call returned from is kept, and never mixed.

Each script runs in a process of its own, as limits of a process and forks do not end with a fault.
"""

import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import lnlab
from lnlab.errors import LabError
from tests.torture.faults import Tally, fault

GROUP = "Recorded runs"
PROMISE = "all rows of calls that returned are there, and no row of another process; what cannot be kept is refused"
TWO_PROCESSES = Path(__file__).parents[1] / "recording" / "two_processes.py"

SERVER = """
import mmap, os, sys
import torch
import torch._dynamo  # which every optimizer imports, for two seconds: once for all forks
from torch import nn
import lnlab
from lnlab.outside.recorder.recorder import Recorder
from lnlab import files
from lnlab.outside.foreign_runs import folder as run_folder

files.sync = lambda *_: None  # a kill leaves what was written; waiting for a disk makes this slow
torch.set_num_threads(1)
path, progress = sys.argv[1:]
run_folder.PART_BYTES = 4000  # so that many kills fall into the making of a part

def record_on(start):
    shared = mmap.mmap(os.open(progress, os.O_RDWR), 8)
    torch.manual_seed(1)
    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=1e-3)
    rec = Recorder(path, settings={"lr": 1e-3}, seed=1, hooks_every=1)
    rec.attach(model, opt, step=start)
    while True:
        loss = model(torch.ones(2, 4)).square().mean()
        loss.backward()
        opt.step()
        opt.zero_grad()
        rec(model, loss=loss)
        shared[:] = rec.count.to_bytes(8, "little")

print("ready", flush=True)
for line in sys.stdin:
    pid = os.fork()  # nothing has run in this process that a fork would break
    if pid == 0:
        record_on(int(line))
    print(pid, flush=True)
    os.waitpid(pid, 0)
    print("dead", flush=True)
"""
BEGINNING = """
import os, random, resource, signal, sys, time
import torch
import torch._dynamo  # which every optimizer imports: once for all forks
from torch import nn
import lnlab
from lnlab import files
from lnlab.outside.foreign_runs import folder as run_folder

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


@fault(GROUP, "SIGKILL to a process that records", PROMISE)
def kills(folder: Path, full: bool) -> Tally:
    """A process records, is killed, and goes on from what is there; parts are small, so that kills fall into theirs."""
    tally, last = Tally(), 0
    path, progress = folder / "run", folder / "progress"
    progress.write_bytes(bytes(8))
    command = [sys.executable, "-c", SERVER, str(path), str(progress)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    moments = random.Random(0)

    def returned() -> int:
        return int.from_bytes(progress.read_bytes(), "little")

    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment) as server:
        assert server.stdin
        assert server.stdout
        assert server.stdout.readline() == "ready\n"
        for _ in range(100 if full else 10):
            progress.write_bytes(last.to_bytes(8, "little"))
            server.stdin.write(f"{last}\n")
            server.stdin.flush()
            pid, deadline = int(server.stdout.readline()), time.monotonic() + 60
            while returned() == last and time.monotonic() < deadline:
                time.sleep(0.001)  # until the first record of this process
            time.sleep(moments.uniform(0, 0.03))
            os.kill(pid, signal.SIGKILL)
            assert server.stdout.readline() == "dead\n"
            reached, losses, runs = returned(), [], lnlab.open_runs(path, ended=True)
            for quantity, rows in (("loss", 1), ("step_gradient_norm", 2), ("update_to_weight", 2)):
                steps = runs.frame(quantity)["step"].to_list()
                if sorted(steps) != [step for step in range(1, max(steps) + 1) for _ in range(rows)]:
                    losses.append(f"rows of {quantity} are not those of steps 1 to {max(steps)}")
                if max(steps) < reached:
                    losses.append(f"{quantity} ends at step {max(steps)}, and step {reached} had returned")
            tally.add(losses)
            last = max(runs.frame("loss")["step"])
        server.stdin.close()
    parts = len(list(path.glob("part-*.parquet")))
    tally.notes.append(f"{last:,} steps in {parts} parts")
    return tally


def _trials(script: str, folder: Path, full: bool) -> tuple[Tally, list[list[str]]]:
    """Run the trials of a script. Each prints a line once it has found what was promised."""
    trials = 20 if full else 3
    command = [sys.executable, "-W", "ignore", "-c", BEGINNING + script, str(folder), str(trials)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    lines = [line.split() for line in done.stdout.splitlines()]
    tally = Tally(len(lines))
    if done.returncode or len(lines) < trials:
        tally.add([(done.stderr.strip().splitlines() or ["nothing was said"])[-1]])
    return tally, lines


@fault(GROUP, "disk full under a recorder", PROMISE)
def full_disks(folder: Path, full: bool) -> Tally:
    """A disk takes a part of a record and then nothing, for some steps; in every second trial training goes on."""
    tally, lines = _trials(FULL, folder, full)
    counts = Counter(" ".join(words[1:]) for words in lines)
    tally.notes.append(", ".join(f"{count} times it {word}" for word, count in sorted(counts.items())))
    return tally


@fault(GROUP, "two processes that record into one folder", PROMISE)
def races(folder: Path, full: bool) -> Tally:
    """Both begin at once, with numbers of their own: one of them is refused, and every row is of the other."""
    tally, lines = _trials(RACE, folder, full)
    for trial, *_, tag in lines:
        runs = lnlab.open_runs(folder / trial)
        own = runs.frame("loss").select("step", "value").rows() == [(step, float(tag)) for step in range(1, 31)]
        own &= runs.frame(f"q{tag}")["value"].to_list() == [float(step) for step in range(1, 31)]
        if not own or set(runs.results.tables["curves"]["quantity"]) != {"loss", f"q{tag}", "learning_rate"}:
            tally.lost.append(f"trial {trial}: rows are not those of process {tag}")
    tally.notes.append(f"{len(lines)} of {2 * len(lines)} processes were refused")
    return tally


@fault(GROUP, "forked children of a recorder", PROMISE)
def forks(folder: Path, full: bool) -> Tally:
    """Children call the recorder and close it; one that lives longer keeps nobody from going on with the folder."""
    tally, lines = _trials(FORKS, folder, full)
    tally.notes.append(f"two children a trial, whose {10 * len(lines)} calls were refused, and one that lived on")
    return tally


@fault(GROUP, "one of two ranks dies", PROMISE)
def ranks(folder: Path, full: bool) -> Tally:
    """In its fifth update, before its gradients are there: rank 0, which writes, or the other."""
    tally = Tally()
    for dying in (1, 0) if full else (1,):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = str(s.getsockname()[1])
        command, run = [sys.executable, str(TWO_PROCESSES), f"dying-{dying}"], folder / str(dying)
        processes = [subprocess.Popen([*command, str(rank), port, str(run)]) for rank in range(2)]
        codes = [process.wait(300) for process in processes]
        losses = [] if codes[dying] == 9 else [f"rank {dying} ended with {codes[dying]}"]
        try:
            runs = lnlab.open_runs(run, ended=True)
            for quantity in ("loss", "step_gradient_norm"):
                if (steps := runs.frame(quantity)["step"].unique().sort().to_list()) != [1, 2, 3, 4]:
                    losses.append(f"{quantity} has steps {steps}, of four that had returned")
        except LabError as error:
            losses.append(str(error))
        status = json.loads((run / "run.json").read_text())["status"]
        if status != ("running" if dying == 0 else "failed"):
            losses.append(f"a run whose rank {dying} died is {status}")
        tally.add(losses)
    tally.notes.append("four updates had returned")
    return tally
