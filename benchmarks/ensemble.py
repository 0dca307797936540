"""The gradients of several seeds in one batch, by torch.func, beside those of one seed after another.

    python benchmarks/ensemble.py [device] [seeds] [blocks]

Encoder-decoders of three sizes on random tokens, one batch a seed. The two alternate; printed are the median and the
range of the ratio of their times, and how far their gradients lie apart.
"""

import os
import sys
from statistics import median
from time import perf_counter
from types import SimpleNamespace

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, stack_module_state, vmap
from torch.nn.functional import cross_entropy

from lnlab.catalogue import REGISTRIES
from lnlab.compile.resolve.resolve import resolve_setting
from lnlab.compile.work import Trajectory
from lnlab.execute.program import build

SHAPES = ((16, 2, 64), (64, 3, 256), (128, 6, 1024))
"""Width, layers, and tokens of a batch."""
LENGTH, ROWS = 16, 2000


class OfTensors(nn.Module):
    """The loss of a model, from the tokens of a batch."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        logits = self.model(SimpleNamespace(source=source, target_in=target))
        return cross_entropy(logits.flatten(0, 1), target.flatten())


def model_of(width: int, layers: int, sentences: int, seed: int) -> OfTensors:
    task = {"kind": "random_tokens", "vocabulary": ROWS, "sentences": sentences, "length": LENGTH}
    model = {"kind": "encoder_decoder", "layers": layers, "d_model": width, "heads": 4, "d_ff": 2 * width}
    setting = resolve_setting({"task": task, "model": model, "placement": "pre"}, REGISTRIES)
    return OfTensors(build(Trajectory("benchmark", seed, setting, 0, ()), REGISTRIES).model)


def compare(device: str, seeds: int, blocks: int, width: int, layers: int, tokens: int) -> None:
    models = [model_of(width, layers, tokens // LENGTH, seed + 1).to(device) for seed in range(seeds)]
    source, target = torch.randint(1, ROWS, (2, seeds, tokens // LENGTH, LENGTH), device=device)
    stacked, _ = stack_module_state(models)
    names = [name for name, _ in models[0].named_parameters()]

    def loss(parameters: dict[str, Tensor], read: Tensor, answer: Tensor) -> Tensor:
        return functional_call(models[0], parameters, (read, answer))

    together = vmap(grad(loss))

    def in_turn() -> list[tuple[Tensor, ...]]:
        batches = zip(models, source, target, strict=True)
        return [torch.autograd.grad(model(read, answer), list(model.parameters())) for model, read, answer in batches]

    at_once = together({name: stacked[name] for name in names}, source, target)
    pairs = [
        (at_once[name][e], part) for e, parts in enumerate(in_turn()) for name, part in zip(names, parts, strict=True)
    ]
    apart = max(float((a - b).norm() / b.norm()) for a, b in pairs if float(b.norm()) > 1e-6)
    ratios, own = [], []
    for _ in range(blocks):
        seconds = []
        for run in (in_turn, lambda: together(stacked, source, target)):
            synchronize(device)
            start = perf_counter()
            run()
            synchronize(device)
            seconds.append(perf_counter() - start)
        ratios.append(seconds[0] / seconds[1])
        own.append(seconds[0] / seeds)
    print(
        f"{layers}-{layers}, d_model {width}, {tokens} tokens, {seeds} seeds: {median(own) * 1e3:.1f} ms a seed one "
        f"after another, in one batch {median(ratios):.2f} times as fast, {min(ratios):.2f} to {max(ratios):.2f}; "
        f"gradients {apart:.0e} apart",
        flush=True,
    )


def synchronize(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


if __name__ == "__main__":
    arguments = sys.argv[1:]
    where = arguments[0] if arguments else "cpu"
    numbers = [int(word) for word in arguments[1:]]
    for shape in SHAPES:
        compare(where, *(numbers + [5, 7][len(numbers) :]), *shape)
