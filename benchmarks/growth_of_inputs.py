"""How time and memory grow with what a user gives: claims, figures, runs, rows, text, steps and tensors.

Two sizes of each, in a process of its own: processor seconds, peak memory, and the exponents between the sizes. A
process that does nothing takes a second and 300 MiB, which makes the exponents of small sizes small. Printed by hand,
asserted nowhere.

python benchmarks/growth_of_inputs.py FOLDER [name[=size,size] ...]
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path

from growth import growth_line, usage

SPEC = """\
lnlab: 2
title: Growth
task: {{kind: classification, corpus: {{kind: toy_finance, sentences: 100}}, vocabulary: 300, batch_sentences: 16}}
model: {{kind: classifier, layers: 1, d_model: 16, heads: 2, d_ff: 32}}
placement: post
optimizer: {{kind: sgd, lr: 0.1}}
train: {{steps: 2, evaluate: end}}
seeds: {seeds}
sweep:
  all: {{norm: [layer, rms]}}
report:
{sections}
claims:
{claims}
"""
SECTION = "  - {{kind: curves, title: Figure {n}, quantity: loss, where: {{split: validation}}}}\n"
CLAIM = """\
  - {{id: c{n}, says: Number {n} holds., kind: ratio, of: {{quantity: loss, split: validation, step: last, norm: rms}},
     to: {{norm: layer}}, at_most: {bound}}}
"""


def spec(folder: Path, *, seeds: int = 3, figures: int = 1, claims: int = 1) -> Path:
    """A spec of so many runs for each of two norms, with so many figures and claims that differ."""
    path = folder / f"seeds{seeds}_figures{figures}_claims{claims}.yaml"
    sections = "".join(SECTION.format(n=n) for n in range(figures))
    path.write_text(
        SPEC.format(
            seeds=seeds,
            sections=sections,
            claims="".join(CLAIM.format(n=n, bound=2 + n / 10_000) for n in range(claims)),
        )
    )
    return path


def lnlab(*words: object) -> tuple[str, ...]:
    return ("-m", "lnlab", *map(str, words))


def claims(folder: Path, size: int) -> tuple[str, ...]:
    """`check` of a spec of so many claims."""
    return lnlab("check", spec(folder, claims=size))


def judged(folder: Path, size: int) -> tuple[str, ...]:
    """`run` with nothing to compute and so many claims to judge."""
    store = folder / "store"
    usage(lnlab("run", spec(folder), "--store", store, "-q"), folder)
    return lnlab("run", spec(folder, claims=size), "--store", store, "-q")


def figures(folder: Path, size: int) -> tuple[str, ...]:
    """`report` with so many figures."""
    store, path = folder / "store", spec(folder, figures=size)
    usage(lnlab("run", path, "--store", store, "-q"), folder)
    return lnlab("report", path, "--store", store, "--out", folder / f"figures{size}")


def runs(folder: Path, size: int) -> tuple[str, ...]:
    """`plan` of so many runs, none of which is there."""
    return lnlab("plan", spec(folder, seeds=size // 2), "--store", folder / "empty")


def rows(folder: Path, size: int) -> tuple[str, ...]:
    """A page of a table of so many rows."""
    code = f"""
import numpy as np, polars as pl, lnlab
at = np.arange({size})
table = pl.DataFrame({{"opt": np.where(at % 2, "a", "b"), "seed": at // 2 % 5, "step": at // 10, "loss": 1 / (1 + at)}})
lnlab.from_frame(table, axes=["opt"], step="step", values=["loss"]).report(out={str(folder / f"rows{size}")!r})
"""
    return ("-c", code)


def text(folder: Path, size: int) -> tuple[str, ...]:
    """A corpus of so many bytes, read and encoded."""
    path = folder / f"text{size}.txt"
    line = "The quick brown fox jumps over the lazy dog, and a line of a corpus is some eighty bytes.\n"
    path.write_text(line * (size // len(line)))
    code = f"""
from pathlib import Path
from lnlab.catalogue import REGISTRIES
corpora, tasks = REGISTRIES["text_corpus"], REGISTRIES["task"]
choice = tasks.resolve({{"kind": "language_modeling", "corpus": {{"kind": "text", "files": [{path.name!r}]}}}})
from lnlab.randomness import Draw
print(len(tasks.builder(choice)(Draw(1), (Path({str(folder)!r}),)).text["train"]))
"""
    return ("-c", code)


LOOP = """
import torch, lnlab, sys
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range({tensors} // 2))
    def forward(self, x):
        for layer in self.layers:
            x = x + 0.01 * layer(x)
        return x
torch.manual_seed(1)
loss = lambda model, batch: (model(batch) - batch).square().mean()
batches, model = [torch.randn(8, 4) for _ in range(6)], Net()
"""
RECORD = (
    LOOP
    + """
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
rec = lnlab.Recorder({folder!r}, seed=1, settings={{"lr": 1e-3}}, probes={probes}, every=1, batches=batches, loss=loss)
rec.attach(model, optimizer)
for step in range(1, {steps} + 1):
    value = loss(model, batches[0])
    value.backward()
    optimizer.step()
    optimizer.zero_grad()
    rec(model, step, loss=value.detach())
rec.close()
assert lnlab.open_runs({folder!r}).frame("loss").height == {steps}
"""
)


def steps(folder: Path, size: int) -> tuple[str, ...]:
    """A loop of so many steps, recorded and read back."""
    return ("-c", RECORD.format(tensors=4, folder=str(folder / f"steps{size}"), probes=[], steps=size))


def tensors(folder: Path, size: int) -> tuple[str, ...]:
    """Three steps of a model of so many tensors, recorded with `gradient_norm` at each."""
    return (
        "-c",
        RECORD.format(tensors=size, folder=str(folder / f"tensors{size}"), probes=["gradient_norm"], steps=3),
    )


def measured(folder: Path, size: int) -> tuple[str, ...]:
    """`measure` of a model of so many tensors."""
    return ("-c", LOOP.format(tensors=size) + "lnlab.measure(model, batches, loss)")


INPUTS: dict[Callable[[Path, int], tuple[str, ...]], tuple[int, int]] = {
    claims: (250, 1_000),
    judged: (250, 1_000),
    figures: (60, 300),
    runs: (30_000, 150_000),
    rows: (600_000, 3_000_000),
    text: (50_000_000, 250_000_000),
    steps: (100_000, 1_000_000),
    tensors: (2_000, 10_000),
    measured: (2_000, 10_000),
}


def main(folder: Path, asked: dict[str, tuple[int, int]]) -> None:
    """Print a line for each kind of input."""
    folder.mkdir(parents=True, exist_ok=True)
    for make, usual in INPUTS.items():
        if not asked or make.__name__ in asked:
            few, many = asked.get(make.__name__) or usual
            used = [usage(make(folder, size), folder) for size in (few, many)]
            print(growth_line(make.__name__, (few, many), used), flush=True)


if __name__ == "__main__":
    os.nice(5)
    words = (word.partition("=") for word in sys.argv[2:])
    main(
        Path(sys.argv[1]).resolve(),
        {name: tuple(map(int, sizes.split(","))) if sizes else () for name, _, sizes in words},
    )
