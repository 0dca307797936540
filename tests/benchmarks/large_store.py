"""A store of any size, as finished runs leave it: what it holds is drawn, how it lies is real.

Either its units in packs, of which the first ``lnlab run`` makes the copy of the plan; or that copy alone, which is all
that a finished plan is read from, in a tenth of the time.

python tests/benchmarks/large_store.py FOLDER packs|copy [runs] [points]
"""

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import polars as pl

from lnlab import files as whole_files
from lnlab.app.plan_facts import plan_facts
from lnlab.app.request import Request, compile_request, load_registries
from lnlab.compile.plan import Plan
from lnlab.compile.work import Trajectory
from lnlab.keys import digest_bytes
from lnlab.store.compact import write_compacted
from lnlab.store.join import join_results
from lnlab.store.packing import BLOCK_BYTES, PACK_BYTES, PackWriter
from lnlab.store.packs import PACKS_FOLDER, encode_block
from lnlab.store.plans import plan_frames
from lnlab.store.records.layout import RECORD_FILE, stretch_name, trajectory_folder
from lnlab.store.records.records import Record
from lnlab.store.store import Store
from lnlab.tables import Results, encode_parquet, frame, table_schema

SEEDS = 100
SLICE_RUNS = 4000
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


def fill(folder: Path, what: str, runs: int = 100_000, points: int = 1000, workers: int = 2) -> None:
    """A store with every run of the spec."""
    folder.mkdir(parents=True, exist_ok=True)
    spec, store = write_spec(folder, runs, points), Store(folder / "store")
    begun = perf_counter()
    plan = store_plan(store, Request(spec))
    print(f"plan of {len(plan.runs):,} runs compiled and stored: {perf_counter() - begun:.1f} s", flush=True)
    begun, share = perf_counter(), -(-len(plan.trajectories) // workers)
    if what == "copy":
        tables = plan_frames(plan)
        assert write_compacted(store.root, plan.digest, tables["axes"], _slices(store.root, tables, points))
        print(f"copy written: {perf_counter() - begun:.0f} s", flush=True)
        return
    with get_context("spawn").Pool(workers) as pool:
        starts = range(0, len(plan.trajectories), share)
        shares = [(store.root, plan.trajectories[n : n + share], partial(drawn, points=points)) for n in starts]
        pool.starmap(write_packs, shares)
    print(f"filled: {perf_counter() - begun:.0f} s", flush=True)


def _slices(root: Path, plan: Mapping[str, pl.DataFrame], points: int) -> Iterator[Results]:
    """The results of a plan, some runs after the others: the losses of ``drawn``, of many runs at once."""
    empty, draw = join_results(root, {table: rows.clear() for table, rows in plan.items()}), np.random.default_rng(0)
    places = pl.DataFrame(
        {"step": [*range(points), points, points], "split": [*["train"] * points, "validation", "test"]}
    )
    for first in range(0, plan["runs"].height, SLICE_RUNS):
        part = plan["runs"][first : first + SLICE_RUNS]
        losses = _losses(draw, (part.height, points))
        values = np.concatenate([losses, losses[:, -1:], losses[:, -1:]], axis=1).ravel()
        rows = part.select("run", "variant", "seed", "trajectory").join(
            places, how="cross", maintain_order="left_right"
        )
        curves = rows.with_columns(quantity=pl.lit("loss"), value=pl.Series(values))
        ends = pl.lit("finished").alias("status"), pl.Series("last_finite_loss", losses[:, -1]), *_columns(points)
        runs = part.with_columns(*ends).cast(dict(empty.runs.schema)).select(empty.runs.columns)
        needs = plan["needs"].join(runs.select("run", "variant", "seed"), on="run", maintain_order="left")
        tables = {"curves": curves, "needs": needs}
        drawn = {name: rows.select(empty.tables[name].columns) for name, rows in tables.items()}
        yield Results(runs, empty.axes, {**empty.tables, **drawn})


def store_plan(store: Store, request: Request) -> Plan:
    """The plan of a request, stored as ``lnlab run`` stores it."""
    known = load_registries(request.plugins)
    plan, document = compile_request(request, known)
    store.save_plan(plan, request.spec, plan_facts(request, plan, document, known))
    return plan


def write_packs(
    root: Path, units: Sequence[Trajectory], rows: Callable[[Trajectory], tuple[pl.DataFrame, Mapping[str, Any]]]
) -> None:
    """Packs of these units, in this order; ``rows`` has the curves of a unit and its outcome."""
    whole_files.sync = lambda path, flags=0: None  # the disk is not what is measured
    (root / PACKS_FOLDER).mkdir(exist_ok=True)
    writer, pending, holds = PackWriter(root), list[tuple[str, str, str, bytes]](), dict[str, tuple[str, ...]]()
    for unit in units:
        stretch = stretch_name(0)
        contents = _contents(root, unit, *rows(unit))
        pending += [(unit.key, stretch, name, content) for name, content in contents.items()]
        holds[unit.key] = (stretch,)
        if unit is units[-1] or sum(len(content) for *_, content in pending) >= BLOCK_BYTES:
            writer.add(encode_block(pending), holds)
            pending, holds = [], {}
        if writer.size >= PACK_BYTES:
            writer.close()
    writer.close()


def _contents(root: Path, unit: Trajectory, curves: pl.DataFrame, outcome: Mapping[str, Any]) -> dict[str, bytes]:
    """The files of a unit that came to its end."""
    tables = {"outcomes": frame("outcomes", [outcome]), "curves": curves.match_to_schema(table_schema("curves"))}
    contents = {f"{table}.parquet": encode_parquet(rows) for table, rows in tables.items()}
    keys = tuple(measurement.key for measurement in unit.measurements if measurement.step <= outcome["steps"])
    digests = {name: digest_bytes(content) for name, content in contents.items()}
    record = Record(trajectory_folder(root, unit.key), unit.key, 0, outcome["steps"], keys, keys, outcome, digests)
    return {RECORD_FILE: record.content(), **contents}


def _losses(draw: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    return (2 / (1 + np.arange(shape[1]) / 100) + draw.normal(0, 0.1, shape)).astype(np.float32).astype(float)


def _columns(points: int) -> list[pl.Expr]:
    """What every run's outcome has in common."""
    return [pl.lit(value).alias(name) for name, value in {**ENDED, **MACHINE, "done": points}.items()]


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
    fill(Path(sys.argv[1]), sys.argv[2], *map(int, sys.argv[3:]))
