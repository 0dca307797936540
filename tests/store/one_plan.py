"""What each of several processes does that compute one plan: all of its units that no other is at or has done."""

import json
import os
import time
from pathlib import Path

from lnlab.store.store import Store
from tests.support.store_toys import outcome_of, plan_of, rows_of


def compute_at_once(root: str, processes: int) -> list[list[str]]:
    """The keys of the units that each of these processes computed. They begin together."""
    start, begin = os.pipe()
    answers = []
    for _ in range(processes):
        reading, writing = os.pipe()
        if os.fork() == 0:
            try:
                os.close(begin)
                os.read(start, 1)  # until the last writer has closed it
                keys = _compute(Path(root))
                with os.fdopen(writing, "w") as pipe:
                    json.dump(keys, pipe)
            finally:  # it must not go on as its parent does
                os._exit(0)
        os.close(writing)
        answers.append(reading)
    os.close(begin)
    keys_of_processes = []
    for reading in answers:
        with os.fdopen(reading) as pipe:
            keys_of_processes.append(json.load(pipe))
    return keys_of_processes


def _compute(root: Path) -> list[str]:
    store, waiting = Store(root), list(plan_of(variants=20, seeds=5).trajectories)
    computed = []
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
        computed.append(trajectory.key)
        for measurement in trajectory.measurements:
            unit.write("sites", rows_of(measurement))
        unit.commit(missing, outcome_of(trajectory))
    return computed
