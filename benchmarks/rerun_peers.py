"""A rerun with nothing to do: ``lnlab run`` of so many stored units, and ``dvc repro`` of as many stages, in pairs.

A stage writes a file of one line; the units, a multiple of 40, come from ``large_store``. DVC is skipped where it is
not installed. Printed by hand, asserted nowhere.

python benchmarks/rerun_peers.py [units] [pairs]
"""

import importlib.util
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter

from large_store import SPEC, drawn, store_plan, write_packs
from scale import used_by

from lnlab.app.request import Request
from lnlab.store.store import Store

POINTS = 100
STAGES = """\
stages:
  unit:
    foreach: {items}
    do:
      cmd: echo ${{item}} > ${{item}}.txt
      outs: ["${{item}}.txt"]
"""


def dvc(folder: Path, *words: str) -> float:
    """Processor seconds of a command of DVC."""
    begun = os.times()
    environment = {**os.environ, "DVC_NO_ANALYTICS": "1"}
    command = [sys.executable, "-m", "dvc", *words, "-q"]
    subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
    ended = os.times()
    return ended.children_user + ended.children_system - begun.children_user - begun.children_system


def main(units: int, pairs: int) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        spec, store = folder / "units.yaml", Store(folder / "store")
        spec.write_text(
            SPEC.format(runs=units, points=POINTS, seeds=units // 40, rates=[0.001, 0.002], last=POINTS - 1)
        )
        write_packs(store.root, store_plan(store, Request(spec)).trajectories, partial(drawn, points=POINTS))
        words = ("run", str(spec), "--store", str(store.root), "-q")
        used_by(*words)
        if importlib.util.find_spec("dvc") is None:
            print(f"lnlab run of {units} units: {used_by(*words)}\ndvc: skipped, it is not installed")
            return
        stages = folder / "dvc"
        stages.mkdir()
        (stages / "dvc.yaml").write_text(STAGES.format(items=[f"u{number}" for number in range(units)]))
        dvc(stages, "init", "--no-scm")
        begun = perf_counter()
        dvc(stages, "repro")
        print(f"dvc repro that runs {units} stages: {perf_counter() - begun:.1f} s", flush=True)
        ratios = []
        for _ in range(pairs):
            ours, theirs = used_by(*words), dvc(stages, "repro")
            ratios.append(theirs / ours.processor)
            print(f"lnlab run: {ours}; dvc repro: {theirs:.2f} s of processor, {ratios[-1]:.2f} times", flush=True)
        print(f"dvc repro to lnlab run, {units} units with nothing to do: median {median(ratios):.2f} of {pairs} pairs")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200, int(sys.argv[2]) if len(sys.argv) > 2 else 3)
