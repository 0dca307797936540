"""One product of the Hessian against one gradient of the same pairs on one thread, and the memory of 200 products.

    python benchmarks/curvature_product.py [pairs] [d_model] [vocabulary] [blocks]

With the graph of every shard kept, and with it built anew; two and three gradients are the limits in FLOPs. Blocks
alternate, with the gradient against itself as the noise floor. Allocation is dear: with MALLOC_TRIM_THRESHOLD_,
MALLOC_MMAP_THRESHOLD_ and MALLOC_TOP_PAD_ raised in the environment ratios fall by a tenth.
"""

import gc
import sys
from itertools import pairwise
from pathlib import Path
from statistics import median
from time import perf_counter

import torch
from pairs import by_length, size_of, state_of

from lnlab.curvature.ggn import ggn
from lnlab.curvature.hessian import hessian
from lnlab.probes.probe import State
from lnlab.tasks.task import Batch

PRODUCTS = 200


def gradient(state: State, batches: list[Batch]) -> None:
    """Of the mean loss, as anyone would."""
    parameters = list(state.model.parameters())
    total = [torch.zeros_like(p) for p in parameters]
    for batch in batches:
        loss, _ = state.task.loss(state.model, batch)
        for sum_, part in zip(total, torch.autograd.grad(loss, parameters), strict=True):
            sum_ += part


def resident() -> float:
    """MiB of this process, now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 2**20


def timed(work: object, *given: object) -> float:
    start = perf_counter()
    work(*given)  # type: ignore[operator]
    return perf_counter() - start


def ratios(state: State, batches: list[Batch], blocks: int) -> None:
    v = torch.randn(size_of(state), generator=torch.Generator().manual_seed(1)).double()
    for name, make in {"Hessian": hessian, "GGN": ggn}.items():
        for keep in (True, False):
            before = resident()
            operator = make(state.model, state.task.loss, batches, keep=keep)
            held = resident() - before
            for _ in range(2):
                operator.matvec(v)
            rows = [(timed(gradient, state, batches), timed(operator.matvec, v)) for _ in range(blocks + 1)]
            found = [product / one for one, product in rows[:-1]]
            noise = [after / one for (one, _), (after, _) in pairwise(rows)]
            print(
                f"{name}, graph {f'kept ({held:.0f} MiB)' if keep else 'built anew'}: {median(found):.2f} gradients a "
                f"product, {min(found):.2f} to {max(found):.2f} ({blocks} blocks); gradient against itself "
                f"{median(noise):.3f}"
            )
            del operator
            gc.collect()


def memory(state: State, batches: list[Batch]) -> None:
    """Growth from the tenth product to the last."""
    for keep in (True, False):
        operator = hessian(state.model, state.task.loss, batches, keep=keep)
        v = torch.ones(size_of(state), dtype=torch.float64)
        for number in range(PRODUCTS):
            operator.matvec(v)
            if number == 9:
                before = resident()
        grown = resident() / before - 1
        print(f"{PRODUCTS} products, graph {'kept' if keep else 'built anew'}: memory {grown:+.2%} after the tenth")


def main(pairs: int, width: int, vocabulary: int, blocks: int) -> None:
    torch.set_num_threads(1)
    state = state_of(width, vocabulary)
    batches = by_length(state, pairs)
    print(f"{pairs} pairs, {sum(b.tokens for b in batches):,} target tokens in {len(batches)} shards")
    ratios(state, batches, blocks)
    memory(state, batches[:1])


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    main(*(given + [1000, 128, 8000, 5][len(given) :]))
