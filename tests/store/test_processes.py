"""Eight processes at once on one plan of a hundred units: each unit is computed by one of them."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

from store_toys import plan_of

from lnlab.store.records.records import StoreReader

WORKER = """
import sys, time
from pathlib import Path
from store_toys import outcome_of, plan_of, rows_of
from lnlab.store.store import Store

store, waiting = Store(Path(sys.argv[1])), list(plan_of(variants=20, seeds=5).trajectories)
sys.stdin.readline()
while waiting:
    trajectory = waiting.pop(0)
    unit = store.open_unit(trajectory.key)
    if unit is None:  # as the scheduler does with a unit that another process works on
        waiting.append(trajectory)
        time.sleep(0.001)
        continue
    missing = unit.missing([each.key for each in trajectory.measurements])
    if not missing:
        unit.abandon()
        continue
    print(trajectory.key)
    for measurement in trajectory.measurements:
        unit.write("sites", rows_of(measurement))
    unit.commit(missing, outcome_of(trajectory))
"""


def test_eight_processes_on_one_plan_compute_each_unit_once(store, root):
    command = [sys.executable, "-c", WORKER, str(root)]
    folder = Path(__file__).parent
    workers = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder, text=True)
        for _ in range(8)
    ]
    for worker in workers:
        worker.stdin.write("\n")
        worker.stdin.flush()
    computed = [worker.communicate()[0].split() for worker in workers]
    assert [worker.returncode for worker in workers] == [0] * 8
    expected = {trajectory.key for trajectory in plan_of(variants=20, seeds=5).trajectories}
    assert Counter(key for keys in computed for key in keys) == Counter(expected)
    contents = [StoreReader(root).read(key) for key in expected]
    assert [len(each.records) for each in contents] == [1] * 100
    assert not [sentence for each in contents for sentence in each.damaged]
