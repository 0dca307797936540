"""A run on SLURM: tasks of an array share the store, are queued again, and compute each unit once."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from lnlab.store.leases import lease_holder
from lnlab.store.store import Store
from tests.support.results_digest import results_digest
from tests.support.toy_specs import TRAINED, toy_spec

FAKE = Path(__file__).parents[1] / "fixtures/fake_slurm/slurm.py"
SPEC = toy_spec(
    TRAINED,
    title="Four runs that take a while",
    task={"corpus": {"kind": "toy_german_english", "train": 200, "validation": 300}},
    train={"steps": 40, "evaluate": {"every": 20}},
    seeds=4,
    claims=[
        {
            "id": "learns",
            "says": "The loss falls below 6.",
            "kind": "bound",
            "of": {"quantity": "loss", "split": "train", "step": "last"},
            "at_most": 6,
        }
    ],
)


@pytest.fixture
def slurm(tmp_path, monkeypatch):
    """SLURM's commands on PATH, and the folder where they keep jobs."""
    jobs, commands = tmp_path / "jobs", tmp_path / "commands"
    for folder in (jobs, commands):
        folder.mkdir()
    for name in ("sbatch", "srun", "sacct", "scancel", "scontrol"):
        (commands / name).write_text(f'#!/bin/sh\nexec {sys.executable} {FAKE} {name} "$@"\n')
        (commands / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{commands}:{os.environ['PATH']}")
    monkeypatch.setenv("FAKE_SLURM", str(jobs))
    monkeypatch.chdir(tmp_path)
    Path("trained.yaml").write_text(SPEC)
    yield jobs
    for job in jobs.glob("*.json"):
        subprocess.run(["pkill", "-KILL", "-s", str(json.loads(job.read_text())["pid"])])


@pytest.fixture(scope="module")
def at_home(tmp_path_factory, lnlab_process):
    """The digest of the same rows, computed on this machine alone."""
    folder = tmp_path_factory.mktemp("home")
    (folder / "trained.yaml").write_text(SPEC)
    assert lnlab_process(["run", "trained.yaml", "--quiet"], folder, workers=False).returncode == 0
    return rows_of(folder / ".lnlab")


def rows_of(root):
    """One digest of all rows of the plan that was used last."""
    store = Store(root)
    return results_digest(store.results(store.last().digest))


@dataclass
class Started:
    """``lnlab run`` in a process of its own, which hands out tasks while the test goes on."""

    output: Path
    ending: "Future[tuple[int, object]]"

    def send_signal(self, number):
        os.kill(int((self.output / "pid").read_text()), number)

    def end(self):
        """Wait for it: its exit code and what it printed."""
        status, code = self.ending.result(timeout=300)
        assert status == 0, code
        return code, *((self.output / name).read_text() for name in ("stdout", "stderr"))


@pytest.fixture
def start(slurm, tmp_path, forked):
    """``start(*options)``: the run is handed to SLURM."""
    thread = ThreadPoolExecutor(1)

    def started(*options):
        output = tmp_path / "output"
        output.mkdir()
        words = ["run", "trained.yaml", "--executor", "slurm", *options]
        job = ("array_run_looking_often", words, str(tmp_path), dict(os.environ), str(output))
        return Started(output, thread.submit(forked, *job))

    yield started
    thread.shutdown()


def wait_for(found, running):
    until = time.monotonic() + 120
    while not found() and not running.ending.done() and time.monotonic() < until:
        time.sleep(0.1)
    assert found(), running.end()


def session_of(job):
    """None: it is queued, and has not begun."""
    return json.loads(job.read_text()).get("pid")


def training(*jobs):
    """Whether each of these tasks is at a unit."""
    holders = [lease_holder(path) for path in Path(".lnlab").rglob("lease")]
    sessions = set()
    for holder in filter(None, holders):
        with suppress(ProcessLookupError):
            sessions.add(os.getsid(holder.pid))
    return bool(jobs) and all(session_of(job) in sessions for job in jobs)


@pytest.mark.nightly
def test_the_units_of_a_killed_task_are_computed_by_another_which_goes_on_when_its_time_is_over(slurm, start, at_home):
    run = start("--tasks", "2", "--save-every", "3600", "--sbatch", "partition=short", "--sbatch", "account=lab")
    wait_for(lambda: training(*slurm.glob("*_0.json")), run)
    killed, over = sorted(slurm.glob("*.json"))
    subprocess.run(["pkill", "-KILL", "-s", str(session_of(killed))])
    wait_for(lambda: training(over), run)
    time.sleep(0.5)
    subprocess.run(["scancel", over.stem, "--signal", "USR2"], check=True)
    code, out, err = run.end()
    assert code == 0, err
    assert "4 runs: 4 finished; 4 units computed" in out
    assert "learns" in out
    assert [json.loads(job.read_text())["starts"] for job in (killed, over)] == [1, 2]
    assert rows_of(Path(".lnlab")) == at_home
    (job,) = slurm.glob("*.sbatch")
    lines = job.read_text().splitlines()
    for line in ("--array=0-1%2", "--partition=short", "--account=lab", "--cpus-per-task=1", "--requeue", "--time=30"):
        assert f"#SBATCH {line}" in lines


@pytest.mark.nightly
def test_ctrl_c_cancels_the_tasks_which_save_what_they_are_at(slurm, start, at_home, lnlab_process):
    run = start("--tasks", "2", "--save-every", "3600")
    wait_for(lambda: any(map(training, slurm.glob("*.json"))), run)
    time.sleep(0.5)
    run.send_signal(signal.SIGINT)
    code, _, err = run.end()
    assert code == 130
    assert "interrupted: lnlab run trained.yaml " in err
    assert len(list(slurm.glob("*.cancelled"))) == 2
    assert lnlab_process(["run", "trained.yaml", "--quiet"], Path.cwd(), workers=False).returncode == 0
    assert rows_of(Path(".lnlab")) == at_home


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (("-s", "train.device=cuda", "--workers", "2"), "--gpus-per-node=2"),
        (("-s", "train.device=cuda", "--sbatch", "gres=gpu:a100:1"), "--gres=gpu:a100:1"),
        ((), ""),
    ],
)
def test_tasks_ask_for_a_gpu_a_worker_where_units_are_on_gpus(slurm, lnlab, monkeypatch, options, line):
    commands = Path(os.environ["PATH"].split(":")[0])
    sent = slurm / "sent"
    (commands / "sbatch").write_text(f"#!/bin/sh\ncp $1 {sent}; echo 'error: no job is begun here' >&2; exit 1\n")
    lnlab("run", "trained.yaml", "--executor", "slurm", "--tasks", "1", "--quiet", *options)
    asked = [text.removeprefix("#SBATCH ") for text in sent.read_text().splitlines() if "#SBATCH --g" in text]
    assert asked == ([line] if line else [])


def test_what_slurm_refuses_and_options_that_do_not_go_together_are_one_line(slurm, console, monkeypatch):
    refused = console.refused("run", "trained.yaml", "--executor", "slurm", "--sbatch", "partition=closed", "--quiet")
    assert "closed" in refused
    assert Path(".lnlab").exists()
    shutil.rmtree(".lnlab")
    for options in (("--tasks", "2"), ("--no-wait",), ("--executor", "slurm", "--sbatch", "partition")):
        console.refused("run", "trained.yaml", *options)
    assert not Path(".lnlab").exists()
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    console.refused("run", "trained.yaml", "--executor", "slurm")
