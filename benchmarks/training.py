"""What training costs beside bare PyTorch, and what is wasted on the way. Printed by hand, asserted nowhere.

    python benchmarks/training.py [steps] [blocks]

One update against the loop that anyone would write, on the same model and batches, in alternating blocks, with that
loop against itself as the noise floor; the same with ``gradient_norm`` of the update's own batch every ten updates, and
with histograms of all gradients and updates at every one; the padding of training batches; and the memory of a process
that trains, against the estimate of the plan.
"""

import os
import resource
import sys
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from time import perf_counter

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")

import torch
from torch.nn import functional

from lnlab.catalogue import REGISTRIES
from lnlab.compile.cost.cost import cost
from lnlab.compile.resolve.resolve import resolve_setting
from lnlab.compile.work import Measurement, Trajectory
from lnlab.corpora.files.fetch import data_roots
from lnlab.execute.program import build
from lnlab.execute.trainer import Trainer
from lnlab.execute.updates import training_stream
from lnlab.randomness import Draw

ROOTS = data_roots(Path.cwd())
MODEL = {"kind": "encoder_decoder", "layers": 2, "d_model": 64, "heads": 4, "d_ff": 128, "dropout": 0.1}
TOY = {"kind": "translation", "corpus": "toy_german_english", "vocabulary": 500, "batch_tokens": 512}
MULTI30K = {"kind": "translation", "corpus": "multi30k", "vocabulary": 4000, "batch_tokens": 2048}


class Nowhere:
    """A unit that keeps nothing."""

    def write(self, table: str, rows: object) -> None: ...

    def save(self, step: int, content: bytes, facts: object) -> None: ...

    def show(self, point: object) -> None: ...

    def go_on(self, measurements: object, outcome: object) -> None: ...


def trajectory_of(steps: int, probes: tuple = (), **given: object) -> Trajectory:
    setting = {"task": TOY, "model": MODEL, "placement": "post", "optimizer": {"kind": "adam", "lr": 1e-3}}
    setting |= {"train": {"steps": steps, "clip": 1.0}, **given}
    due = tuple(Measurement(str(n), at, REGISTRIES["probe"].resolve(probe)) for n, (at, probe) in enumerate(probes))
    return Trajectory("benchmark", 1, resolve_setting(setting, REGISTRIES), steps, due)


class Lab:
    """lnlab's loop, a block at a time."""

    def __init__(self, trajectory: Trajectory, block: int) -> None:
        self.trajectory, self.block, self.state = trajectory, block, build(trajectory, REGISTRIES, ROOTS)
        due: dict[int, list[Measurement]] = {}
        for measurement in trajectory.measurements:
            due.setdefault(measurement.step, []).append(measurement)
        going = 1, due, Nowhere(), REGISTRIES, lambda *_: {}, lambda error: ("failed", repr(error))
        self.walk = Trainer(self.state, trajectory, *going, save_every=1e9)

    def run(self) -> None:
        self.walk.target = self.state.step + self.block
        ending = self.walk._to_target()
        if ending or self.walk.failures:
            raise RuntimeError(f"{ending} {self.walk.failures}")


class Bare:
    """The loop that anyone would write."""

    def __init__(self, trajectory: Trajectory, block: int) -> None:
        self.block, self.state = block, build(trajectory, REGISTRIES, ROOTS)
        self.optimizer = torch.optim.Adam(self.state.model.parameters(), lr=1e-3)
        self.batches = training_stream(self.state.task, 0)
        self.losses: list[float] = []

    def run(self) -> None:
        model = self.state.model.train()
        for batch in islice(self.batches, self.block):
            self.optimizer.zero_grad(set_to_none=True)
            logits = model(batch)
            target = batch.target_out.flatten()
            loss = functional.cross_entropy(logits.flatten(0, 1), target, ignore_index=0, label_smoothing=0.1)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            self.optimizer.step()
            self.losses.append(loss.item())


def timed(work: Lab | Bare) -> float:
    start = perf_counter()
    work.run()
    return perf_counter() - start


def against_bare(steps: int, blocks: int) -> None:
    whole = steps * (blocks + 1)
    norms = tuple((at, {"kind": "gradient_norm", "batches": "step"}) for at in range(0, whole, 10))
    gradients, updates = {"kind": "gradient_histogram", "batches": "step"}, {"kind": "update_histogram"}
    histograms = tuple((at, probe) for at in range(1, whole) for probe in (gradients, updates))
    plain = trajectory_of(whole)
    lab, probed, counted = (
        Lab(t, steps) for t in (plain, trajectory_of(whole, norms), trajectory_of(whole, histograms))
    )
    one, two = Bare(plain, steps), Bare(plain, steps)
    for each in (lab, probed, counted, one, two):
        timed(each)
    rounds = [tuple(map(timed, (one, lab, probed, counted, two))) for _ in range(blocks)]
    for name, ratios in {
        "lnlab / bare": [2 * b / (a + e) for a, b, _, _, e in rounds],
        "lnlab with gradient_norm every 10 / bare": [2 * c / (a + e) for a, _, c, _, e in rounds],
        "lnlab with both histograms every update / lnlab": [d / b for _, b, _, d, _ in rounds],
        "bare / bare": [e / a for a, *_, e in rounds],
    }.items():
        print(
            f"{name}: median {median(ratios):.3f}, {min(ratios):.3f} to {max(ratios):.3f} ({blocks} x {steps} updates)"
        )
    print(f"bare: {1e3 * median(a for a, *_ in rounds) / steps:.2f} ms an update")


def padding() -> None:
    for name, task in {"toy_german_english": TOY, "multi30k": MULTI30K}.items():
        try:
            made = REGISTRIES["task"].builder(REGISTRIES["task"].resolve(task))(Draw(1), ROOTS)
            batches = list(made.batches("train", "train"))
        except Exception as error:  # a corpus that is not at hand
            print(f"padding, {name}: {error}")
            continue
        for side in ("source", "target_out"):
            tokens = [getattr(batch, side) for batch in batches]
            share = 1 - sum(int((t != 0).sum()) for t in tokens) / sum(t.numel() for t in tokens)
            print(f"padding, {name}, {side}: {100 * share:.2f} % of {len(batches)} batches")


def peak(task: dict, steps: int, answer: object) -> None:
    """What training added to the peak memory of a fresh process, and what the plan expected."""
    trajectory = trajectory_of(steps, task=task, model={**MODEL, "d_model": 256, "d_ff": 1024})
    Lab(trajectory_of(1, model={**MODEL, "d_model": 16}), 1).run()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    lab = Lab(trajectory, steps)
    lab.run()
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    answer.put((grown, cost(trajectory.setting, (), REGISTRIES).peak_bytes))  # type: ignore[attr-defined]


def memory(steps: int) -> None:
    context = get_context("spawn")
    answer = context.Queue()
    child = context.Process(target=peak, args=({**TOY, "batch_tokens": 2048}, steps, answer))
    child.start()
    grown, expected = answer.get(timeout=600)
    child.join()
    print(f"memory: {grown / 2**20:.0f} MiB above that of a tiny run, {expected / 2**20:.0f} MiB expected")


def main(steps: int, blocks: int) -> None:
    torch.set_num_threads(1)
    against_bare(steps, blocks)
    padding()
    memory(min(steps, 5))


if __name__ == "__main__":
    main(*([int(word) for word in sys.argv[1:3]] or [60, 10]))
