"""Batches of nearly equal numbers of target tokens and little padding, or of equal numbers of sentences.

Pairs are sorted by (target length, source length), source lengths rising and falling in turn, so that a batch over the
seam of two target lengths holds similar sources. Equal pairs stand in random order. They are laid end to end by their
target tokens. With n tokens in all and K batches, the pair whose middle lies at token m goes to batch
``floor(m K / n)``, so that a batch has n / K tokens to within one sentence. K is the smallest number tried with which
no batch exceeds the budget. The batches are then shuffled.
"""

import math

import torch
from torch import Tensor

GROWTH = 1.01
"""Between trials of K, so that even odd length distributions need only some hundred."""


def batches_of(source: Tensor, target: Tensor, budget: int, seed: int) -> list[Tensor]:
    """The rows of each batch, shuffled: every row once.

    Args:
        source: (pairs,) source lengths, int64.
        target: (pairs,) target lengths, int64, none of which exceeds the budget.
        budget: the most target tokens a batch may have, padding not counted.
        seed: seed of the generator of every random choice here.

    Raises:
        ValueError: a target is longer than the budget.
    """
    if len(target) == 0:
        return []
    if int(target.max()) > budget:
        raise ValueError(f"a target has {int(target.max())} tokens, the budget is {budget}")
    generator = torch.Generator().manual_seed(seed)
    rows = sorted_by_length(source, target, generator)
    sizes = torch.bincount(batch_numbers(target[rows], budget)).tolist()
    batches = torch.split(rows, [size for size in sizes if size])
    return [batches[i] for i in torch.randperm(len(batches), generator=generator).tolist()]


def equal_batches(rows: Tensor, size: int, generator: torch.Generator, lengths: Tensor | None = None) -> list[Tensor]:
    """Batches of rows in random order whose numbers of rows differ by at most one.

    Args:
        rows: (rows,) every row once.
        size: the most rows of a batch.
        generator: generator of every random choice here.
        lengths: length of every sentence by its row. If given, the sentences of a batch are of nearly one length.
    """
    rows = rows[torch.randperm(len(rows), generator=generator)]
    number = math.ceil(len(rows) / size)
    if lengths is None:
        return list(rows.tensor_split(number))
    batches = rows[lengths[rows].argsort(stable=True)].tensor_split(number)
    return [batches[i] for i in torch.randperm(number, generator=generator).tolist()]


def sorted_by_length(source: Tensor, target: Tensor, generator: torch.Generator) -> Tensor:
    """Rows by target length, then by source length, increasing for even target lengths and decreasing for odd ones."""
    # Shuffled and then sorted stably, so that equal pairs stand in random order.
    rows = torch.randperm(len(target), generator=generator)
    longest = int(source.max())
    key = target * (longest + 1) + torch.where(target % 2 == 0, source, longest - source)
    return rows[key[rows].argsort(stable=True)]


def batch_numbers(lengths: Tensor, budget: int) -> Tensor:
    """Batch number of each sentence of a sorted sequence: (sentences,), non-decreasing. A batch may be empty."""
    total = int(lengths.sum())
    cumulative = lengths.cumsum(0)
    twice_middle = 2 * cumulative - lengths  # twice, as the middle of an odd length is no whole number
    number = -(-total // budget)  # rounded up: with fewer batches some would exceed the budget
    while True:
        batch = twice_middle * number // (2 * total)
        if int(torch.bincount(batch, lengths.double()).max()) <= budget:
            return batch
        number = max(number + 1, int(number * GROWTH))
