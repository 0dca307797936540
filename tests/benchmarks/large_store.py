"""A store of any size, filled through the store's own writer: what it holds is drawn, how it lies is real.

python tests/benchmarks/large_store.py FOLDER [runs] [points]
"""

import os
import random
import struct
import sys
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter

from lnlab import files as whole_files
from lnlab.app.plan_facts import plan_facts
from lnlab.app.request import Request, compile_request, load_registries
from lnlab.compile.plan import Plan
from lnlab.compile.work import Trajectory
from lnlab.store.store import Store

SEEDS = 100
SPEC = """\
lnlab: 2
title: A store of {runs} runs
task: {{kind: classification, corpus: {{kind: toy_finance, sentences: 100}}, vocabulary: 300, batch_sentences: 16}}
model: {{kind: classifier, layers: 1, d_model: 32, heads: 2, d_ff: 64}}
placement: post
optimizer: {{kind: sgd, lr: 0.1}}
train: {{steps: {points}, evaluate: end}}
seeds: {seeds}
sweep:
  - {{optimizer.lr: {rates}, norm: [layer, rms, batch, none], model.layers: [1, 2, 3, 4, 5]}}
report:
  - {{kind: curves, quantity: loss, where: {{split: validation}}}}
claims:
  - id: rms_below_layer
    says: RMSNorm ends with the validation loss of LayerNorm.
    kind: ratio
    of: {{quantity: loss, split: validation, step: last, norm: rms, optimizer.lr: 0.001, model.layers: 1}}
    to: {{norm: layer}}
    between: [0.95, 1.05]
  - id: loss_falls
    says: The training loss falls.
    kind: ratio
    of: {{quantity: loss, split: train, step: {last}, norm: rms, optimizer.lr: 0.002, model.layers: 1}}
    to: {{step: 1}}
    at_most: 1
"""


def write_spec(folder: Path, runs: int, points: int) -> Path:
    """The spec of a sweep of so many runs: a rate for every 20 variants."""
    path = folder / "large_store.yaml"
    rates = [round(0.001 * n, 3) for n in range(1, runs // (SEEDS * 20) + 1)]
    path.write_text(SPEC.format(runs=runs, points=points, seeds=SEEDS, rates=rates, last=points - 1))
    return path


def fill(folder: Path, runs: int, points: int, workers: int = 2) -> tuple[Store, Path]:
    """A store with every run of the spec, in folders, as workers leave it."""
    folder.mkdir(parents=True, exist_ok=True)
    spec, store = write_spec(folder, runs, points), Store(folder / "store")
    request, known = Request(spec), load_registries(())
    begun = perf_counter()
    plan, document = compile_request(request, known)
    store.save_plan(plan, spec, plan_facts(request, plan, document, known))
    print(f"plan of {len(plan.runs):,} runs: {perf_counter() - begun:.1f} s", flush=True)
    begun = perf_counter()
    with get_context("spawn").Pool(workers) as pool:
        pool.starmap(_write_all, [(store, plan, points, slice(n, None, workers)) for n in range(workers)])
    print(f"filling: {perf_counter() - begun:.0f} s", flush=True)
    return store, spec


def _write_all(store: Store, plan: Plan, points: int, share: slice) -> None:
    whole_files.sync = lambda path, flags=0: None  # the disk is not what is measured
    for unit in plan.trajectories[share]:
        _write(store, unit, points)


def _write(store: Store, unit: Trajectory, points: int) -> None:
    draw = random.Random(unit.key)
    losses = [_single(2 / (1 + step / 100) + draw.gauss(0, 0.1)) for step in range(points)]
    at = {"trajectory": unit.key, "quantity": "loss"}
    rows = [{**at, "step": step, "split": "train", "value": loss} for step, loss in enumerate(losses)]
    ends = [{**at, "step": points, "split": split, "value": losses[-1]} for split in ("validation", "test")]
    opened = store.open_unit(unit.key)
    opened.missing([measurement.key for measurement in unit.measurements])
    opened.write("curves", rows + ends)
    opened.commit([measurement.key for measurement in unit.measurements], _outcome(unit, losses[-1]))


def _outcome(unit: Trajectory, loss: float) -> dict[str, object]:
    ended = {"status": "finished", "reason": None, "last_finite_loss": loss, "parameters": 12_345, "seconds": 1.5}
    machine = {"device": "cpu", "versions": '{"lnlab":"0","platform":"toy","python":"3","torch":"none"}'}
    return {"trajectory": unit.key, "steps": unit.steps, **ended, **machine}


def _single(value: float) -> float:
    """A value in single precision, as a loss is."""
    return float(struct.unpack("f", struct.pack("f", value))[0])


if __name__ == "__main__":
    os.nice(5)
    fill(Path(sys.argv[1]), *map(int, sys.argv[2:]))
