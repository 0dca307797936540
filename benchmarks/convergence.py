"""Finished cells a minute of the convergence study, beside the loop that anyone would write. Printed, never asserted.

    python benchmarks/convergence.py [width] [seeds] [blocks] [profile]

One width of ``yu_convergence`` (two depths, three norms, seven rates), whole, in alternating blocks: by ``lnlab run``
with two workers into an empty store, from the command to its verdicts; and by one process with two threads that trains
one cell after another, each for all its epochs whatever becomes of its loss, on random batches padded to their longest
sentence, with one evaluation an epoch. The corpus is Financial PhraseBank where it is found, else generated. Of the
loop neither its imports nor the reading of its data are counted.
"""

import subprocess
import sys
from itertools import groupby
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from lnlab.app.request import Request, compile_request
from lnlab.catalogue import REGISTRIES
from lnlab.committed.registries import load_registries
from lnlab.compile.work import ResolvedSetting, Trajectory
from lnlab.corpora.files.fetch import data_roots
from lnlab.corpora.labelled import labelled
from lnlab.nn.embedding import sinusoids
from lnlab.randomness import Draw
from lnlab.tasks.task import Batch

SPEC = Path(__file__).parents[1] / "specs" / "yu_convergence.yaml"
ROOTS = data_roots(SPEC.parent)
WORKERS = 2


class TokenBatchNorm(nn.BatchNorm1d):
    """PyTorch's batch norm on (batch, length, width), padding and all."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x.transpose(1, 2)).transpose(1, 2)


NORMS = {"layer": nn.LayerNorm, "batch": TokenBatchNorm, "none": nn.Identity}


class Layer(nn.Module):
    """``nn.TransformerEncoderLayer`` with a choice of norms."""

    def __init__(self, width: int, heads: int, d_ff: int, norm: type[nn.Module]) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.feed_forward = nn.Sequential(nn.Linear(width, d_ff), nn.ReLU(), nn.Linear(d_ff, width))
        self.norms = nn.ModuleList(norm(width) for _ in range(2))

    def forward(self, x: Tensor, padding: Tensor) -> Tensor:
        x = self.norms[0](x + self.attention(x, x, x, key_padding_mask=padding, need_weights=False)[0])
        return self.norms[1](x + self.feed_forward(x))


class Classifier(nn.Module):
    """Embedding, layers, the mean of a sentence's tokens, logits."""

    def __init__(self, setting: ResolvedSetting) -> None:
        super().__init__()
        model, stack, task = setting["model"], setting["encoder"], setting["task"]
        self.width = model["d_model"]
        self.table = nn.Embedding(task["vocabulary"], self.width)
        nn.init.normal_(self.table.weight, std=self.width**-0.5)
        shape = self.width, model["heads"], model["d_ff"], NORMS[stack["norm"]["kind"]]
        self.layers = nn.ModuleList(Layer(*shape) for _ in range(stack["layers"]))
        self.output = nn.Linear(self.width, task["classes"])

    def forward(self, tokens: Tensor) -> Tensor:
        padding = tokens == 0
        x = self.table(tokens) * self.width**0.5 + sinusoids(tokens.shape[1], self.width).float()
        for layer in self.layers:
            x = layer(x, padding)
        here = (~padding)[..., None]
        return self.output((x * here).sum(1) / here.sum(1))


def trained(unit: Trajectory, epochs: list[list[Batch]], validation: list[Batch]) -> list[float]:
    """One cell by the plain loop; its training losses and, an epoch, its validation loss."""
    torch.manual_seed(unit.seed)
    model, losses = Classifier(unit.setting), []
    optimizer = torch.optim.SGD(model.parameters(), lr=unit.setting["optimizer"]["lr"])
    for batches in epochs:
        model.train()
        for batch in batches:
            optimizer.zero_grad()
            loss = cross_entropy(model(batch.source), batch.target_out)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        model.eval()
        with torch.no_grad():
            losses.append(sum(cross_entropy(model(b.source), b.target_out).item() for b in validation))
    return losses


def by_loop(units: list[Trajectory]) -> float:
    """Seconds of the plain loop."""
    taken = 0.0
    for seed, each in groupby(units, key=lambda unit: unit.seed):
        cells = list(each)
        task = REGISTRIES["task"].builder({**cells[0].setting["task"], "bucket": False})(Draw(seed), ROOTS)
        count = cells[0].setting["train"]["steps"] // task.epoch_batches
        epochs = [list(task.batches("train", "train", number)) for number in range(count)]
        validation = list(task.batches("validation", "evaluation"))
        begin = perf_counter()
        for unit in cells:
            trained(unit, epochs, validation)
        taken += perf_counter() - begin
    return taken


def by_lnlab(request: Request) -> float:
    """Seconds of ``lnlab run`` with an empty store."""
    with TemporaryDirectory() as folder:
        words = [word for override in request.overrides for word in ("-s", override)]
        words += ["--profile", request.profile] if request.profile else []
        command = [sys.executable, "-m", "lnlab", "run", str(request.spec), *words, "--store", folder, "-q"]
        begin = perf_counter()
        subprocess.run([*command, "-w", str(WORKERS)], check=True, stdout=subprocess.DEVNULL)
        return perf_counter() - begin


def main(width: str, seeds: int, blocks: int, profile: str | None) -> None:
    torch.set_num_threads(WORKERS)
    request = Request(SPEC, profile, (f"method={width}", f"seeds={seeds}"))
    plan, _ = compile_request(request, load_registries(()))
    units = sorted(plan.trajectories, key=lambda unit: unit.seed)
    print(f"{len(units)} cells of width {width}, {units[0].setting['task']['corpus']['kind']}, {blocks} blocks")
    ways = {"lnlab": lambda: by_lnlab(request), "the plain loop": lambda: by_loop(units)}
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for block in range(blocks):
        for name in sorted(ways, reverse=block % 2 == 1):
            taken[name].append(ways[name]())
    for name, each in taken.items():
        rates = ", ".join(f"{60 * len(units) / one:.1f}" for one in each)
        print(f"{name}: median {60 * len(units) / median(each):.1f} cells a minute ({rates})")
    ratios = [plain / ours for ours, plain in zip(*taken.values(), strict=True)]
    print(f"lnlab / the plain loop: median {median(ratios):.2f}, {min(ratios):.2f} to {max(ratios):.2f}")


if __name__ == "__main__":
    real = labelled["financial_phrasebank"].facts.locate(ROOTS)
    words = [*sys.argv[1:], *["normal", "1", "2", "real" if real else ""][len(sys.argv) - 1 :]]
    main(words[0], int(words[1]), int(words[2]), words[3] or None)
