"""Eight processes on one spec: how often each unit was computed, and what they took of the time that is needed.

The ideal is the time of all units, shared by as many workers as there are cores; a unit's time is the one in its
record, of a run of the same spec by one process. What is above it are starts, leases, waiting and what other processes
take of the machine. Printed by hand, asserted nowhere.

python benchmarks/processes.py [units] [steps]
"""

import os
import resource
import subprocess
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from lnlab.store.records.records import StoreReader

PROCESSES = 8
SPEC = """\
lnlab: 2
title: One spec for several processes
task: {{kind: classification, corpus: {{kind: toy_finance, sentences: 100}}, vocabulary: 300, batch_sentences: 16}}
model: {{kind: classifier, layers: 2, d_model: 64, heads: 4, d_ff: 128}}
placement: post
optimizer: {{kind: sgd, lr: 0.1}}
train: {{steps: {steps}}}
seeds: {units}
"""


def compute(spec: Path, store: Path, processes: int, workers: int) -> tuple[float, float]:
    """Seconds until all processes have ended, and the processor time that they and their workers took."""
    begun, used = perf_counter(), _processor_seconds()
    command = [sys.executable, "-m", "lnlab", "run", str(spec), "--store", str(store), "-q", "-w", str(workers)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    started = [subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment) for _ in range(processes)]
    assert [process.wait() for process in started] == [0] * processes
    return perf_counter() - begun, _processor_seconds() - used


def _processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def unit_seconds(store: Path) -> Counter[str]:
    """Trajectory -> seconds of its records."""
    reader, seconds = StoreReader(store), Counter[str]()
    for key in reader.known():
        seconds[key] = sum(float(record.outcome["seconds"]) for record in reader.read(key).records)
    return seconds


def computed_twice(store: Path) -> int:
    """How many stretches of work begin where another of the same trajectory began."""
    reader = StoreReader(store)
    starts = Counter((key, record.first_step) for key in reader.known() for record in reader.read(key).records)
    return starts.total() - len(starts)


def main(units: int, steps: int) -> None:
    cores = len(os.sched_getaffinity(0))
    with TemporaryDirectory() as name:
        folder = Path(name)
        spec = folder / "processes.yaml"
        spec.write_text(SPEC.format(units=units, steps=steps))
        for processes, workers in ((1, cores), (PROCESSES, 1), (PROCESSES, cores)):
            store = folder / f"{processes}-{workers}"
            wall, processor = compute(spec, store, processes, workers)
            seconds = unit_seconds(store)
            if processes == 1:
                alone, needed = wall, seconds.total()
            ideal = needed / cores
            print(
                f"{processes} x {workers} workers, {cores} cores: {len(seconds)} units, {computed_twice(store)} again; "
                f"{wall:.1f} s, {wall / ideal:.2f} of the ideal {ideal:.1f} s, {wall / alone:.2f} of one process; "
                f"{processor:.1f} s of processor, {processor / needed:.2f} of the {needed:.1f} s of its units",
                flush=True,
            )


if __name__ == "__main__":
    main(*([int(word) for word in sys.argv[1:3]] or [100, 200]))
