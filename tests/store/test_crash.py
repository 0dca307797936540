"""Killed at any operation on the disk, a sweep goes on where it was; two lnlabs compute each unit once; readers never
see half a unit.
"""

import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from store_toys import plan_of, record, record_all

from lnlab.store.records.layout import trajectory_folder
from lnlab.store.records.records import read_trajectory
from lnlab.store.results_digest import results_digest
from lnlab.store.store import Store

HERE = str(Path(__file__).parent)

KILLED = f"""
import os, signal, sys
sys.path.insert(0, {HERE!r})
from pathlib import Path
from store_toys import plan_of, record_all
from lnlab.store import files
from lnlab.store.store import Store
root, spec, n = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
done = 0
def before(operation, path):
    global done
    done += 1
    if done == n:
        os.kill(os.getpid(), signal.SIGKILL)
files.before = before
plan = plan_of(variants=1, seeds=2)
Store(root).save_plan(plan, spec)
record_all(Store(root), plan)
print(done)
"""

RACER = f"""
import json, sys, time
sys.path.insert(0, {HERE!r})
from pathlib import Path
from store_toys import plan_of, record
from lnlab.store.store import Store
store, plan = Store(Path(sys.argv[1])), plan_of(variants=2, seeds=int(sys.argv[2]))
left, took = list(plan.trajectories), []
while left:
    unit = left.pop(0)
    keys = record(store, unit)
    if keys is None:
        left.append(unit)
        time.sleep(0.001)
    elif keys:
        took.append(unit.key)
print(json.dumps(took))
"""


def python(script, *arguments):
    return subprocess.run([sys.executable, "-c", script, *map(str, arguments)], capture_output=True, text=True)


@pytest.fixture
def spec(tmp_path):
    path = tmp_path / "toy.yaml"
    path.write_text("title: toy\n")
    return path


def test_killed_before_any_operation_the_missing_work_is_done_and_nothing_twice(tmp_path, spec):
    plan = plan_of(variants=1, seeds=2)
    whole = tmp_path / "whole"
    total = int(python(KILLED, whole, spec, 0).stdout)
    expected = results_digest(Store(whole).results(plan.digest))
    assert total > 30

    def kill_and_resume(n):
        store = Store(tmp_path / f"killed {n}")
        assert python(KILLED, store.root, spec, n).returncode == -9
        finished = [unit.key for unit in plan.trajectories if read_trajectory(store.root, unit.key).records]
        store.save_plan(plan, spec)
        lacking = {unit.key for unit, _ in store.pending(plan)}
        assert lacking == {unit.key for unit in plan.trajectories} - set(finished)
        while any(record(store, unit) is None for unit in plan.trajectories):
            time.sleep(0.1)  # killed between making a lease and signing it
        assert store.pending(plan) == []
        assert all(len(read_trajectory(store.root, unit.key).records) == 1 for unit in plan.trajectories)
        parts = [path for path in store.root.rglob("trajectories/*/*/*") if path.name == "lease"]
        assert parts == []
        return results_digest(store.results(plan.digest))

    points = [*range(1, 31), *range(31, total + 1, 3)]  # the second unit does what the first did
    with ThreadPoolExecutor(3) as pool:
        assert set(pool.map(kill_and_resume, points)) == {expected}


def test_two_processes_with_overlapping_plans_compute_each_unit_once_while_a_reader_reads(tmp_path, spec):
    store, plan = Store(tmp_path / "shared"), plan_of(variants=2, seeds=12)
    store.save_plan(plan, spec)
    racers = [
        subprocess.Popen([sys.executable, "-c", RACER, store.root, str(seeds)], stdout=subprocess.PIPE, text=True)
        for seeds in (12, 8)
    ]
    reads = 0
    while any(racer.poll() is None for racer in racers):
        results = store.results(plan.digest)
        rows = dict(results.tables["sites"].group_by("run").len().iter_rows())
        done = results.runs.filter(status="finished")["run"].to_list()
        assert rows == dict.fromkeys(done, 6)
        reads += 1
    took = [json.loads(racer.communicate()[0]) for racer in racers]
    assert [racer.returncode for racer in racers] == [0, 0]
    assert reads > 1
    assert sorted(took[0] + took[1]) == sorted(unit.key for unit in plan.trajectories)
    assert all(len(read_trajectory(store.root, unit.key).records) == 1 for unit in plan.trajectories)
    assert store.pending(plan) == []


@pytest.mark.parametrize("name", ["with spaces", "ünïcode ≤ 日本", "x" * 200])
def test_any_path_will_do(tmp_path, spec, name):
    store, plan = Store(tmp_path / name), plan_of(variants=1, seeds=1)
    store.save_plan(plan, spec)
    record_all(store, plan)
    assert store.results(plan.digest).runs["status"].to_list() == ["finished"]


def test_leftovers_of_the_dead_heal_and_harm_nobody(store, spec):
    plan = plan_of(variants=1, seeds=1)
    store.save_plan(plan, spec)
    folder = trajectory_folder(store.root, plan.trajectories[0].key)
    (folder / "0-half").mkdir(parents=True)
    (folder / "0-half" / "sites.parquet").write_bytes(b"PAR1")
    (folder / "0-half" / "record.json.12.ab.part").write_bytes(b"{")
    (store.root / "plans" / plan.digest / "runs.parquet.12.ab.part").write_bytes(b"PAR1")
    assert [reason for _, reason in store.pending(plan)] == ["never measured"]
    assert record(store, plan.trajectories[0])
    assert not (folder / "0-half").exists()
    assert store.results(plan.digest).runs["status"].to_list() == ["finished"]
