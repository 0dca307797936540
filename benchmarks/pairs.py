"""The model and the sentence pairs of the benchmarks of curvature: 6-6 layers, Multi30k if it is at hand, else toys."""

import os
from collections.abc import Sequence
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")

import torch

from lnlab.catalogue import REGISTRIES
from lnlab.compile.resolve.resolve import resolve_setting
from lnlab.compile.work import Trajectory
from lnlab.corpora.files.fetch import data_roots
from lnlab.corpora.multi30k import FILES
from lnlab.execute.program import build
from lnlab.probes.probe import State
from lnlab.tasks.task import Batch
from lnlab.tasks.translation import _batch

ROOTS = data_roots(Path.cwd())


def shards(lengths: Sequence[int], budget: int) -> list[list[int]]:
    """The examples of each shard, sorted by length; padded to its longest, a shard has at most ``budget`` elements.

    Raises:
        ValueError: an example alone exceeds the budget, or has no length.
    """
    if lengths and not 0 < min(lengths) <= max(lengths) <= budget:
        raise ValueError(f"found lengths from {min(lengths)} to {max(lengths)}, expected 1 to the budget {budget}")
    groups: list[list[int]] = []
    for i in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        if not groups or lengths[groups[-1][0]] * (len(groups[-1]) + 1) > budget:
            groups.append([])
        groups[-1].append(i)
    return groups


def state_of(width: int, vocabulary: int, placement: str = "post", layers: int = 6, norm: str = "layer") -> State:
    """Post-LN as it begins, on Multi30k or on the toy corpus."""
    real = all(any((Path(root) / name).exists() for root in ROOTS) for name in FILES)
    corpus = "multi30k" if real else "toy_german_english"
    task = {"kind": "translation", "corpus": corpus, "vocabulary": vocabulary, "label_smoothing": 0}
    model = {"kind": "encoder_decoder", "layers": layers, "d_model": width, "heads": 4, "d_ff": 2 * width}
    setting = resolve_setting({"task": task, "model": model, "placement": placement, "norm": norm}, REGISTRIES)
    state = build(Trajectory("benchmark", 1, setting, 0, ()), REGISTRIES, ROOTS)
    state.model.eval()
    print(f"{corpus}, 6-6, d_model {width}, vocabulary {vocabulary}: {size_of(state):,} parameters")
    return state


def size_of(state: State) -> int:
    return sum(p.numel() for p in state.model.parameters())


def in_file_order(state: State, pairs: int, together: int = 50) -> list[Batch]:
    """Padded batches of so many pairs as they stand in the file."""
    source, target = state.task.text.splits["test"]
    rows = torch.arange(pairs)
    return [_batch(source, target, part) for part in torch.split(rows, together)]


def by_length(state: State, pairs: int, budget: int = 1024) -> list[Batch]:
    """The same pairs in shards of nearly one length."""
    source, target = state.task.text.splits["test"]
    lengths = [max(a, b) for a, b in zip(source.lengths[:pairs].tolist(), target.lengths[:pairs].tolist(), strict=True)]
    return [_batch(source, target, torch.tensor(part)) for part in shards(lengths, budget)]


def padding(batches: list[Batch]) -> float:
    """The share of what is computed that is padding."""
    return 1 - sum(b.tokens for b in batches) / sum(b.target_out.numel() for b in batches)
