"""What a batch system sends before it kills: states are kept, leases released, and the run goes on from there."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lnlab.store.records.records import read_trajectory
from lnlab.store.store import Store
from tests.support.results_digest import results_digest
from tests.support.toy_specs import TRAINED, toy_spec

LONG = toy_spec(
    TRAINED,
    title="Runs that take a while",
    train={"steps": 250, "evaluate": {"every": 125}},
    seeds=2,
)
STOPPED_HERE = """\
import os
import time
os.kill(os.getpid(), {number})
time.sleep(60)
"""
ENDLESS = '''\
import os
import time
from pathlib import Path

from lnlab.probes.probe import probes

@probes.register("endless", table="sites", quantities=("constant",), passes=lambda params: 1.0)
def endless(state):
    """``1``: takes an hour."""
    Path(f"asleep {os.getpid()}").write_text("")
    time.sleep(3600)
    yield {"quantity": "constant", "value": 1.0}
'''


def start(*arguments):
    """``lnlab run`` in a process group of its own."""
    command = [sys.executable, "-m", "lnlab", *arguments]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, start_new_session=True, **pipes)


def wait_for(found, running):
    until = time.monotonic() + 300
    while not found() and running.poll() is None and time.monotonic() < until:
        time.sleep(0.02)
    assert found()


def leases(store):
    return list(Path(store).glob("trajectories/*/*/lease"))


def stray(store):
    """Stretches without a record, and files half written."""
    folders = [path for path in Path(store).glob("trajectories/*/*/*") if path.name[0].isdecimal()]
    return [path for path in folders if not (path / "record.json").exists()] + list(Path(store).rglob("*.part"))


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory, lnlab_process):
    """The digest of what an undisturbed run finds."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "long.yaml").write_text(LONG)
    return found_in(folder, lnlab_process)


def found_in(folder, lnlab_process):
    """The digest of what is found when a run in this folder goes on to its end."""
    assert lnlab_process(["run", "long.yaml", "-q"], folder, workers=False).returncode == 0
    (plan,) = [path.name for path in (folder / ".lnlab/plans").iterdir()]
    return results_digest(Store(folder / ".lnlab").results(plan))


@pytest.mark.parametrize(
    ("number", "group", "code"),
    [
        # The run alone is signalled by the tasks of test_slurm, too.
        pytest.param(signal.SIGTERM, False, 143, marks=pytest.mark.torture),
        pytest.param(signal.SIGTERM, True, 143, marks=pytest.mark.nightly),
        pytest.param(signal.SIGHUP, True, 129, marks=pytest.mark.nightly),
    ],
)
def test_states_are_kept_leases_released_and_the_run_goes_on_from_there(
    workdir, undisturbed, lnlab_process, number, group, code
):
    (workdir / "long.yaml").write_text(LONG)
    running = start("run", "long.yaml", "-w", "2", "--save-every", "0.1")
    wait_for(lambda: len(list(Path(".lnlab").glob("trajectories/*/*/states"))) == 2, running)
    os.killpg(running.pid, number) if group else running.send_signal(number)
    said, told = running.communicate(timeout=300)
    assert running.returncode == code, told
    assert f"stopping on {number.name}" in told
    assert "lnlab run long.yaml " in told
    assert "leaked" not in told
    assert "Traceback" not in told
    assert leases(".lnlab") == stray(".lnlab") == []
    assert "2 interrupted" in said
    for folder in Path(".lnlab").glob("trajectories/*/*"):
        last = read_trajectory(workdir / ".lnlab", folder.name).records[-1]
        assert last.outcome["reason"] == f"stopped by {number.name} at step {last.steps}"
        assert 0 < last.steps < 250
        assert (folder / "states" / f"{last.steps}.json").exists()

    assert found_in(workdir, lnlab_process) == undisturbed
    for folder in Path(".lnlab").glob("trajectories/*/*"):
        records = read_trajectory(workdir / ".lnlab", folder.name).records
        assert [record.first_step for record in records] == [0, *(record.steps for record in records[:-1])]


def test_a_second_sigterm_stops_at_once(workdir, tiny):
    """What does not train cannot be cut short: the first signal waits for it, the second does not."""
    Path("mine.py").write_text(ENDLESS)
    tiny.write_text(tiny.read_text().replace("probes:\n", "probes:\n  - {kind: endless}\n"))
    running = start("run", "tiny.yaml", "--with", "mine.py", "-w", "2")
    wait_for(lambda: len(list(Path().glob("asleep *"))) == 2, running)
    running.send_signal(signal.SIGTERM)
    time.sleep(1.2)
    assert running.poll() is None
    running.send_signal(signal.SIGTERM)
    said, told = running.communicate(timeout=300)
    assert running.returncode == 143, told
    assert "Traceback" not in told
    assert "leaked" not in told
    assert "2 interrupted, 4 missing" in said
    assert "stopped by SIGTERM" in said
    assert leases(".lnlab") == stray(".lnlab") == []


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), pytest.param(signal.SIGHUP, 129, marks=pytest.mark.nightly)]
)
def test_while_nothing_runs_the_command_ends_in_one_line(workdir, golden, tiny, lnlab_process, number, code):
    Path("mine.py").write_text(STOPPED_HERE.format(number=int(number)))
    ended = lnlab_process(["run", "tiny.yaml", "--with", "mine.py"], workdir, workers=False)
    assert (ended.returncode, ended.stdout) == (code, "")
    golden(ended.stderr)
