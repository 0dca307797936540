"""A large store: time and memory of status, of a run with nothing to do, and of its results; MLflow beside it.

Fill the store with ``benchmarks/large_store.py`` first. Seconds and processor seconds are medians, memory is the
peak of the largest process. MLflow is skipped where it is not installed; it has ``mlflow_runs`` runs with their last
loss alone, as its search looks at no other. Printed by hand, asserted nowhere.

python benchmarks/scale.py FOLDER [repeats mlflow_runs]
"""

import importlib.util
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter

PEER_SECONDS = 60
"""What a peer may take to write; then it is cut off, and the rest is reckoned from the runs that it wrote."""


@dataclass(frozen=True)
class Usage:
    """What a command took: of one, or of several after each other."""

    seconds: float = 0.0
    processor: float = 0.0
    megabytes: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        seconds, processor = self.seconds + other.seconds, self.processor + other.processor
        return Usage(seconds, processor, max(self.megabytes, other.megabytes))

    def __str__(self) -> str:
        return f"{self.seconds:.2f} s, {self.processor:.2f} s of processor, {self.megabytes:,} MB"

    @staticmethod
    def median(measured: "Sequence[Usage]") -> "Usage":
        fields = zip(*((used.seconds, used.processor, used.megabytes) for used in measured), strict=True)
        seconds, processor, megabytes = map(median, fields)
        return Usage(seconds, processor, int(megabytes))


def used_by(*words: str) -> Usage:
    """What ``lnlab`` takes for these words, the processes that it starts included; memory is that of the largest."""
    begun = perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "lnlab", *words], stdout=subprocess.DEVNULL)
    _, code, used = os.wait4(process.pid, 0)
    assert code == 0, (code, words)
    return Usage(perf_counter() - begun, used.ru_utime + used.ru_stime, used.ru_maxrss >> 10)


def timed(name: str, repeats: int, *words: str) -> None:
    print(f"{name}: {Usage.median([used_by(*words) for _ in range(repeats)])}; median of {repeats}", flush=True)


def main(folder: Path, repeats: int, mlflow_runs: int) -> None:
    store, spec = str(folder / "store"), str(folder / "large_store.yaml")
    timed("run with nothing to do", repeats, "run", spec, "--store", store, "-q")
    timed("status", repeats, "status", spec, "--store", store)
    with TemporaryDirectory() as out:
        table = str(Path(out) / "loss.parquet")
        timed(
            "all losses as one table", repeats, "results", spec, "--quantity", "loss", "--out", table, "--store", store
        )
    if importlib.util.find_spec("mlflow") is None:
        print("mlflow: skipped, it is not installed")
    else:
        _mlflow(mlflow_runs)


def _mlflow(runs: int) -> None:
    """The same question to MLflow on SQLite: the runs of one norm, and the mean of their last loss by seed."""
    begun = perf_counter()
    from mlflow.entities import Metric, Param
    from mlflow.tracking import MlflowClient

    with TemporaryDirectory() as name:
        client = MlflowClient(f"sqlite:///{name}/mlflow.db")
        experiment = client.create_experiment("scale")
        print(f"mlflow: imported, and its database created, in {perf_counter() - begun:.1f} s", flush=True)
        begun, written = perf_counter(), 0
        while written < runs and perf_counter() - begun < PEER_SECONDS:
            number, written = written, written + 1
            run = client.create_run(experiment).info.run_id
            params = [Param("norm", "rms" if number % 4 else "layer"), Param("seed", str(number % 100))]
            client.log_batch(run, metrics=[Metric("loss", number / 7, 0, 0)], params=params)
        took = perf_counter() - begun
        cut = f", cut off there: {runs:,} would take {took * runs / written:.0f} s" if written < runs else ""
        print(f"mlflow: {written:,} runs of 1 point written in {took:.1f} s{cut}", flush=True)
        begun, token, by_seed, run_count = perf_counter(), None, dict[str, list[float]](), 0
        while True:
            page = client.search_runs([experiment], "params.norm = 'rms'", max_results=1000, page_token=token)
            for each in page:
                by_seed.setdefault(each.data.params["seed"], []).append(each.data.metrics["loss"])
            run_count, token = run_count + len(page), page.token
            if not token:
                break
        print(f"mlflow: search_runs by a setting, mean by seed: {run_count:,} runs in {perf_counter() - begun:.1f} s")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:] or (3, 1000)))
