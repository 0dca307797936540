"""A store of any size, as finished runs leave it: what it holds is drawn, how it lies is real.

python benchmarks/large_store.py FOLDER [runs] [points]
"""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import polars as pl

from lnlab import files as whole_files
from lnlab.app.plan_facts import plan_facts
from lnlab.app.request import Request, compile_request
from lnlab.committed.registries import load_registries
from lnlab.compile.plan import Plan
from lnlab.compile.work import Trajectory
from lnlab.keys import digest_bytes
from lnlab.store.packing import PackWriter
from lnlab.store.packs import PACKS_FOLDER
from lnlab.store.records.layout import stretch_name, trajectory_folder
from lnlab.store.records.record import Record
from lnlab.store.store import Store
from lnlab.store.stretch import Stretch
from lnlab.tables import encode_parquet, frame, table_schema

SEEDS = 100
ENDED: dict[str, Any] = {"reason": None, "parameters": 12_345, "seconds": 1.5}
MACHINE = {"device": "cpu", "versions": '{"lnlab":"0","platform":"toy","python":"3","torch":"none"}'}
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


def fill(folder: Path, runs: int = 100_000, points: int = 1000, workers: int = 2) -> None:
    """A store with every run of the spec."""
    folder.mkdir(parents=True, exist_ok=True)
    spec, store = write_spec(folder, runs, points), Store(folder / "store")
    begun = perf_counter()
    plan = store_plan(store, Request(spec))
    print(f"plan of {len(plan.runs):,} runs compiled and stored: {perf_counter() - begun:.1f} s", flush=True)
    begun, share = perf_counter(), -(-len(plan.trajectories) // workers)
    with get_context("spawn").Pool(workers) as pool:
        starts = range(0, len(plan.trajectories), share)
        shares = [(store.root, plan.trajectories[n : n + share], partial(drawn, points=points)) for n in starts]
        pool.starmap(write_packs, shares)
    print(f"filled: {perf_counter() - begun:.0f} s", flush=True)


def store_plan(store: Store, request: Request) -> Plan:
    """The plan of a request, stored as ``lnlab run`` stores it."""
    known = load_registries(request.plugins)
    plan, document = compile_request(request, known)
    store.save_plan(plan, request.spec, plan_facts(request, plan, document, known, provenance={}))
    return plan


def write_packs(
    root: Path, units: Sequence[Trajectory], rows: Callable[[Trajectory], tuple[pl.DataFrame, Mapping[str, Any]]]
) -> None:
    """Packs of these units, in this order; ``rows`` has the curves of a unit and its outcome."""
    whole_files.sync = lambda path, flags=0: None  # the disk is not what is measured
    (root / PACKS_FOLDER).mkdir(exist_ok=True)
    writer = PackWriter(root)
    for unit in units:
        curves, outcome = rows(unit)
        tables = {"outcomes": frame("outcomes", [outcome]), "curves": curves.match_to_schema(table_schema("curves"))}
        keys = tuple(measurement.key for measurement in unit.measurements if measurement.step <= outcome["steps"])
        digests = {f"{table}.parquet": digest_bytes(encode_parquet(rows)) for table, rows in tables.items()}
        folder = trajectory_folder(root, unit.key) / stretch_name(0)
        record = Record(folder, unit.key, 0, outcome["steps"], keys, keys, outcome, digests)
        writer.add(Stretch(record, None), tables)
        if writer.is_full:
            writer.close()
    writer.close()


def _losses(draw: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    return (2 / (1 + np.arange(shape[1]) / 100) + draw.normal(0, 0.1, shape)).astype(np.float32).astype(float)


def drawn(unit: Trajectory, points: int) -> tuple[pl.DataFrame, dict[str, Any]]:
    """A loss that falls with noise, in single precision, and its last value in two evaluations at the end."""
    draw = np.random.default_rng(int(unit.key[:16], 16))
    losses = _losses(draw, (1, points))[0]
    curves = pl.DataFrame(
        {
            "step": [*range(points), points, points],
            "split": [*["train"] * points, "validation", "test"],
            "value": [*losses, losses[-1], losses[-1]],
        }
    ).select(pl.lit(unit.key).alias("trajectory"), "step", "split", pl.lit("loss").alias("quantity"), "value")
    ended = {"status": "finished", "last_finite_loss": float(losses[-1]), **ENDED}
    return curves, {"trajectory": unit.key, "steps": unit.steps, **ended, **MACHINE}


if __name__ == "__main__":
    os.nice(5)
    fill(Path(sys.argv[1]), *map(int, sys.argv[2:]))
