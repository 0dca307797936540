"""SIGKILL at random, to workers and to the parent: nothing finished is lost, nothing is recorded twice."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from toy_pieces import load

from lnlab.execute.scheduler import sweep
from lnlab.store.records.records import read_trajectory

HERE = str(Path(__file__).parent)
UNITS, PARENTS, WORKERS = 45, 2, 23
PARENT = f"""
import json, pickle, sys
sys.path.insert(0, {HERE!r})
from pathlib import Path
from lnlab.compile.work import Measurement, Trajectory
from lnlab.execute.scheduler import sweep
from lnlab.store.store import Store
from toy_pieces import load

if __name__ == "__main__":
    store = Store(Path(sys.argv[1]))
    units = [
        Trajectory(key, seed, setting, 0, tuple(Measurement(*each) for each in due))
        for key, seed, setting, due in json.loads(Path(sys.argv[2]).read_text())
    ]
    sweep([unit for unit in units], store.open_unit, load, workers=2)
"""


def command(pid):
    with suppress(OSError):
        return (Path("/proc") / str(pid) / "cmdline").read_bytes()
    return b""


@pytest.mark.slow
def test_random_kills_of_workers_and_of_the_parent_lose_nothing(store, unit_of, tmp_path):
    draw = random.Random(7)
    notes, described = tmp_path / "notes", tmp_path / "units.json"
    units = [unit_of(n, {"kind": "norm"}, {"kind": "note", "file": str(notes), "spin": 0.08}) for n in range(UNITS)]
    described.write_text(
        json.dumps([[u.key, u.seed, u.setting, [[m.key, m.step, m.probe] for m in u.measurements]] for u in units])
    )
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    kills = parents = 0
    while True:
        parent = subprocess.Popen([sys.executable, str(script), str(store.root), str(described)])
        begun, limit = None, draw.uniform(0.5, 2.0)
        while parent.poll() is None:
            time.sleep(draw.uniform(0.02, 0.15))
            seen = {int(line.split()[0]) for line in notes.read_text().splitlines()} if notes.exists() else set()
            living = [pid for pid in seen if b"forkserver" in command(pid)]
            if living and begun is None:
                begun = time.monotonic()
            if living and kills < WORKERS:
                with suppress(ProcessLookupError):
                    os.kill(draw.choice(living), signal.SIGKILL)
                    kills += 1
            if begun and time.monotonic() - begun > limit and parents < PARENTS:
                before = {unit.key for unit in units if read_trajectory(store.root, unit.key).records}
                parent.kill()
                parents += 1
                parent.wait()
                assert_gone(living)
                assert before <= {unit.key for unit in units if read_trajectory(store.root, unit.key).records}
        finished = [[r for r in read_trajectory(store.root, unit.key).records if r.finished] for unit in units]
        if all(finished):
            break
    assert (parents, kills) == (PARENTS, WORKERS)
    assert [len(each) for each in finished] == [1] * UNITS
    whole = type(store)(tmp_path / "whole")
    assert sweep(units, whole.open_unit, load, workers=2).ended == {"finished": UNITS}
    for unit, (record,) in zip(units, finished, strict=True):
        assert record.files["sites.parquet"] == read_trajectory(whole.root, unit.key).records[0].files["sites.parquet"]


def assert_gone(pids):
    """Workers end with their parent, long before their units would."""
    until = time.monotonic() + 5
    while time.monotonic() < until:
        if not [pid for pid in pids if command(pid)]:
            return
        time.sleep(0.05)
    raise AssertionError("workers outlive their parent")
