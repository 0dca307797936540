"""What an error bar costs: time a product beside peers, products to an error of 5 %, and the two multiplied.

    python benchmarks/curvature_errors.py [pairs] [d_model] [vocabulary] [blocks] [repeats]

Products rebuild their graphs in every library; blocks alternate on one thread, and medians of the ratios of CPU time to
two calls of autograd by hand are printed, with these against themselves as the noise floor. Peers are those of
``curvature_peers.py``; one that is not installed is left out.

Products are counted on the Hessian of ``curvature_budget.py``'s first model, which is known whole: until 1.96 standard
errors are 5 % of ||H||_F for the trace and of ||H||_F itself, and until the cumulative density is at most 0.05 off
beyond a thousandth of the largest eigenvalue. Hutchinson's draws of signs have a variance in closed form; the others
are repeated. Printed by hand, asserted nowhere.
"""

import importlib
import math
import sys
import warnings
from collections.abc import Callable
from itertools import pairwise
from statistics import median
from time import process_time

import torch
from curvature_budget import Diagonal, signed_log, states
from curvature_peers import Inputs, Logits
from pairs import by_length, size_of, state_of
from torch import Generator, Tensor, nn

from lnlab.curvature.budget import budget_spectrum
from lnlab.curvature.dense import dense
from lnlab.curvature.guards import twice_differentiable
from lnlab.curvature.hessian import hessian
from lnlab.curvature.operators import unflatten
from lnlab.curvature.quadrature import Quadrature
from lnlab.curvature.spectrum import spectrum
from lnlab.probes.probe import State
from lnlab.tasks.task import Batch

ERROR, STANDARD_ERRORS = 0.05, 1.96
BUDGETS = (30, 45, 60, 90, 120, 180, 240, 330, 420, 600, 900)
Product = Callable[[Tensor], object]


def by_hand(state: State, batches: list[Batch]) -> Product:
    """Two calls of autograd a shard."""
    parameters = list(state.model.parameters())

    def product(rows: Tensor) -> None:
        along = [part[0].float() for part in unflatten(rows[:1], parameters)]
        with twice_differentiable():
            for batch in batches:
                loss, _ = state.task.loss(state.model, batch)
                gradient = torch.autograd.grad(loss, parameters, create_graph=True)
                torch.autograd.grad(gradient, parameters, along)

    return product


def by_vhp(state: State, batches: list[Batch]) -> Product:
    """``torch.autograd.functional.vhp``."""
    names = [name for name, _ in state.model.named_parameters()]
    parameters = list(state.model.parameters())

    def product(rows: Tensor) -> None:
        along = tuple(part[0].float() for part in unflatten(rows[:1], parameters))
        with twice_differentiable():
            for batch in batches:

                def loss(*values: Tensor, batch: Batch = batch) -> Tensor:
                    called = lambda b: torch.func.functional_call(  # noqa: E731
                        state.model, dict(zip(names, values, strict=True)), (b,)
                    )
                    return state.task.loss(called, batch)[0]

                torch.autograd.functional.vhp(loss, tuple(p.detach() for p in parameters), along)

    return product


def by_pyhessian(state: State, batches: list[Batch]) -> Product:
    module = importlib.import_module("pyhessian")
    data = [(Inputs(b), b.target_out.flatten()) for b in batches]
    with warnings.catch_warnings(), twice_differentiable():
        warnings.simplefilter("ignore")  # that backward(create_graph=True) leaks
        its = module.hessian(Logits(state.model), nn.CrossEntropyLoss(ignore_index=0), dataloader=data, cuda=False)

    def product(rows: Tensor) -> None:
        along = [part[0].float() for part in unflatten(rows[:1], list(state.model.parameters()))]
        with twice_differentiable(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            its.dataloader_hv_product(along)

    return product


def by_curvlinops(state: State, batches: list[Batch]) -> Product:
    module = importlib.import_module("curvlinops")
    data = [(Inputs(b), b.target_out.flatten()) for b in batches]
    model = Logits(state.model)
    with warnings.catch_warnings(), twice_differentiable():
        warnings.simplefilter("ignore")
        operator = module.HessianLinearOperator(
            model,
            nn.CrossEntropyLoss(ignore_index=0, reduction="sum"),
            list(model.parameters()),
            data,
            batch_size_fn=lambda inputs: inputs.tokens,
            check_deterministic=False,
        )

    def product(rows: Tensor) -> None:
        with twice_differentiable(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            operator @ rows.T.float()

    return product


def times(state: State, batches: list[Batch], blocks: int) -> dict[str, float]:
    """The ratio of each product of one vector to two calls by hand."""
    rows = torch.randn(8, size_of(state), generator=Generator().manual_seed(1), dtype=torch.float64)
    rebuilt = hessian(state.model, state.task.loss, batches, keep=False).matvec
    works: dict[str, tuple[Product, int]] = {"by hand": (by_hand(state, batches), 1)}
    works |= {"lnlab": (rebuilt, 1), "lnlab, in eights": (rebuilt, 8), "vhp": (by_vhp(state, batches), 1)}
    for name, make, together in (("PyHessian", by_pyhessian, 1), ("curvlinops", by_curvlinops, 1)):
        try:
            works[name] = make(state, batches), together
        except ImportError as error:
            print(f"{name} is not installed: {error}")
    if "curvlinops" in works:
        works["curvlinops, in eights"] = works["curvlinops"][0], 8
    kept = hessian(state.model, state.task.loss, batches, keep=True).matvec
    works |= {"lnlab, graphs kept": (kept, 1), "lnlab, kept, in eights": (kept, 8)}
    taken: dict[str, list[float]] = {name: [] for name in works}
    for block in range(blocks + 1):
        for name, (work, together) in works.items():
            start = process_time()
            work(rows[:together])
            if block:  # memory that a process touches for the first time is slow
                taken[name].append((process_time() - start) / together)
    bare = taken["by hand"]
    noise = [b / a for a, b in pairwise(bare)]
    print(f"by hand: {median(bare):.3f} s a product; against itself {median(noise):.3f}")
    ratios = {name: [x / b for x, b in zip(found, bare, strict=True)] for name, found in taken.items()}
    for name, found in ratios.items():
        print(f"{name:24} {median(found):6.3f} ({min(found):.3f} to {max(found):.3f})", flush=True)
    return {name: median(found) for name, found in ratios.items()}


def distance(found: Quadrature, values: Tensor, *, midpoints: bool) -> float:
    """The largest difference of the cumulative densities at eigenvalues beyond a thousandth of the largest."""
    least = 1e-4 * float(values.abs().max())
    nodes, order = signed_log(found.nodes, least).sort()
    weights = found.weights[order]
    ordered = values.sort().values
    far = ordered.abs() > 1e-3 * values.abs().max()
    truth = (torch.arange(len(ordered), dtype=torch.float64) + 0.5) / len(ordered)
    places = signed_log(ordered, least)
    total = weights.cumsum(0)
    right = torch.searchsorted(nodes, places)
    if not midpoints:
        below = torch.cat([torch.zeros(1, dtype=torch.float64), total])[right]
        return float((below - truth)[far].abs().max())
    middles, at = total - weights / 2, right.clamp(1, len(nodes) - 1)
    share = ((places - nodes[at - 1]) / (nodes[at] - nodes[at - 1])).clamp(0, 1)
    return float((middles[at - 1] + share * (middles[at] - middles[at - 1]) - truth)[far].abs().max())


def hutch_plus_plus(matrix: Diagonal, products: int, seed: int) -> float:
    """Tr H from P/3 products each for a sketch, its image, and draws off it (Meyer et al., 2021)."""
    third = products // 3
    drawn = torch.randn(2 * third, matrix.size, generator=Generator().manual_seed(seed), dtype=torch.float64)
    basis = torch.linalg.qr(matrix.matvec(drawn[:third]).T)[0].T
    off = drawn[third:] - drawn[third:] @ basis.T @ basis
    return float((basis * matrix.matvec(basis)).sum() + (off * matrix.matvec(off)).sum() / third)


def least_budget(error: Callable[[int], float]) -> int | None:
    """The smallest number of products with which an error is within its bound."""
    return next((products for products in BUDGETS if error(products) <= ERROR), None)


def products(repeats: int) -> dict[str, dict[str, float | None]]:
    """Products to 5 % of each number, by library and method."""
    _, state = next(iter(states()))
    operator = hessian(state.model, state.task.loss, state.batches(1), keep=True)
    matrix = dense(operator.matvec, operator.size, operator.device)
    matrix = (matrix + matrix.T) / 2
    values = torch.linalg.eigvalsh(matrix)
    diagonal, trace, square = Diagonal(values), float(values.sum()), float(values.square().sum())
    norm = math.sqrt(square)
    needed = (STANDARD_ERRORS / ERROR) ** 2
    squared = matrix @ matrix
    off_diagonal = 2 * (square - float(matrix.diagonal().square().sum()))
    off_square = 2 * (float(squared.square().sum()) - float(squared.diagonal().square().sum()))

    def seeded(seed: int) -> Callable[[int], Generator]:
        return lambda number: Generator().manual_seed(10_000 * seed + number)

    def root_mean_square(error: Callable[[int], float]) -> float:
        return STANDARD_ERRORS * math.sqrt(sum(error(seed) ** 2 for seed in range(repeats)) / repeats)

    def budget(p: int, seed: int) -> object:
        return budget_spectrum(diagonal, seeded(seed), products=p)

    def stairs(p: int) -> float:
        runs = (spectrum(diagonal, [seeded(s)(0)], steps=p, dense_below=0) for s in range(repeats))
        return sum(distance(r.quadratures[0], values, midpoints=False) for r in runs) / repeats

    def read(p: int) -> float:
        return sum(distance(budget(p, s).density, values, midpoints=True) for s in range(repeats)) / repeats

    ours = {
        "trace": least_budget(lambda p: root_mean_square(lambda s: (budget(p, s).trace.value - trace) / norm)),
        "norm": least_budget(
            lambda p: root_mean_square(lambda s: math.sqrt(max(budget(p, s).squared_norm.value, 0) / square) - 1)
        ),
        "density": least_budget(read),
    }
    signs = {
        "trace": math.ceil(needed * off_diagonal / square),
        "norm": math.ceil(needed * off_square / (4 * square**2)),  # a root halves a relative error
        "density": least_budget(stairs),
    }
    sketch = least_budget(lambda p: root_mean_square(lambda s: (hutch_plus_plus(diagonal, p, s) - trace) / norm))
    found = {"lnlab": ours, "PyHessian": signs, "curvlinops": {**signs, "trace": sketch}, "vhp": signs}
    for name, row in found.items():
        print(f"{name:12} products to 5 %: " + ", ".join(f"{what} {number}" for what, number in row.items()))
    return found


def main(pairs: int, width: int, vocabulary: int, blocks: int, repeats: int) -> None:
    torch.set_num_threads(1)
    state = state_of(width, vocabulary)
    batches = by_length(state, pairs)
    print(f"{pairs} pairs, {sum(b.tokens for b in batches):,} target tokens in {len(batches)} shards")
    cost = times(state, batches, blocks)
    print("\nproducts by hand that an error of 5 % costs: those needed, times their time")
    for name, row in products(repeats).items():
        if name not in cost:
            continue
        # Of a budget two thirds are Lanczos, one by one, and a third are draws in eights.
        one = (2 * cost["lnlab"] + cost["lnlab, in eights"]) / 3 if name == "lnlab" else cost[name]
        cells = (f"{what} {'-' if n is None else format(n * one, '.0f')}" for what, n in row.items())
        print(f"{name:12} {', '.join(cells)}")


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:6]]
    main(*(given + [80, 64, 4000, 7, 8][len(given) :]))
