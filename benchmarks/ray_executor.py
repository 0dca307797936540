"""Two workers of a Ray cluster against two of this machine: wall-clock time, scheduling, whether the rows are the same.

Both run a spec from an empty store, by turns. Scheduling is how long workers were idle from the first unit's beginning
to the last one's end, also at the end, where one of them has nothing left. Printed by hand, asserted nowhere.

python benchmarks/ray_executor.py [spec] [profile or -] [pairs]
"""

import os
import subprocess
import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter

from lnlab.store.records.records import StoreReader
from lnlab.store.store import Store
from tests.support.results_digest import results_digest

WORKERS = 2


def measure(spec: Path, profile: str, executor: str, folder: Path) -> tuple[float, float, str]:
    """Seconds of the command, the share of them that workers were idle between units, and the digest of the rows."""
    command = [sys.executable, "-m", "lnlab", "run", str(spec), "--store", str(folder), "-q", "-w", str(WORKERS)]
    command += ["--executor", executor, *(["--profile", profile] if profile != "-" else [])]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "RAY_worker_niceness": "0", "RAY_USAGE_STATS_ENABLED": "0"}
    begun = perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, env=environment, check=True)
    elapsed = perf_counter() - begun
    store = Store(folder)
    stored = store.last()
    assert stored is not None
    return elapsed, idle_share(folder), results_digest(store.results(stored.digest))


def idle_share(folder: Path) -> float:
    """What is no unit of the time of all workers from the first unit's beginning to the last one's end."""
    reader = StoreReader(folder)
    records = [record for key in reader.known() for record in reader.read(key).records]
    seconds = [float(record.outcome["seconds"]) for record in records]
    begins = [int(record.folder.name.partition("-")[2][:16], 16) / 1e9 for record in records]  # see stretch_name
    span = max(begin + took for begin, took in zip(begins, seconds, strict=True)) - min(begins)
    return 1 - sum(seconds) / (WORKERS * span)


def main(spec: Path, profile: str, pairs: int) -> None:
    ratios = []
    for pair in range(pairs):
        order = ("local", "ray") if pair % 2 == 0 else ("ray", "local")
        with TemporaryDirectory() as name:
            measured = {executor: measure(spec, profile, executor, Path(name) / executor) for executor in order}
        for executor, (elapsed, idle, _) in measured.items():
            print(f"{executor}: {elapsed:.1f} s; {idle:.1%} of the workers' time is scheduling")
        ratios.append(measured["ray"][0] / measured["local"][0])
        same = "the same" if measured["ray"][2] == measured["local"][2] else "OTHER"
        print(f"pair {pair + 1}: {ratios[-1]:.3f} times as long, {same} rows", flush=True)
    print(f"median of {pairs} pairs: {median(ratios):.3f}")


if __name__ == "__main__":
    arguments = [*sys.argv[1:], *["specs/xiong_fig3.yaml", "-", "3"][len(sys.argv) - 1 :]]
    main(Path(arguments[0]), arguments[1], int(arguments[2]))
