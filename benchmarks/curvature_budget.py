"""Errors of trace, norm, ends, counts and density against exact Hessians, for equal numbers of products.

    python benchmarks/curvature_budget.py [repeats]

Six Hessians of causal Transformers of some 2,500 to 3,000 parameters, at initialization and after 200 updates by Adam,
each computed whole in float64. Starts are rotation-invariant, so that repeats run on the eigenvalues. Printed by hand,
asserted nowhere. Errors are root mean squares over repeats and their geometric mean over matrices: of the trace in
units of ||H||_F, of ||H||_F^2 relative, of the density as the Wasserstein-1 distance on a signed logarithmic axis.
"""

import sys
from collections import defaultdict

import torch
from torch import Generator, Tensor

from lnlab.catalogue import REGISTRIES
from lnlab.compile.resolve.resolve import resolve_setting
from lnlab.compile.work import Trajectory
from lnlab.curvature.budget import budget_spectrum
from lnlab.curvature.dense import dense
from lnlab.curvature.hessian import hessian
from lnlab.curvature.quadrature import Quadrature, mean_quadrature
from lnlab.curvature.spectrum import spectrum
from lnlab.execute.program import build
from lnlab.nn.modes import in_mode

UPDATES = 200
MODELS = {
    "Post-LN, 2 layers": {"placement": "post", "layers": 2, "d_model": 10, "d_ff": 20},
    "Pre-LN, 2 layers": {"placement": "pre", "layers": 2, "d_model": 10, "d_ff": 20},
    "Post-LN, 4 layers": {"placement": "post", "layers": 4, "d_model": 8, "d_ff": 16},
}


def states():
    """Each model with its task, before and after training."""
    for name, shape in MODELS.items():
        task = {"kind": "language_modeling", "vocabulary": 64, "length": 16, "windows": 16}
        model = {"kind": "language_model", "heads": 2, **{k: v for k, v in shape.items() if k != "placement"}}
        setting = resolve_setting({"task": task, "model": model, "placement": shape["placement"]}, REGISTRIES)
        state = build(Trajectory(key="", setting=setting, seed=1, steps=0, measurements=()), REGISTRIES)
        state.model.double()
        yield f"{name}, at initialization", state
        optimizer = torch.optim.Adam(state.model.parameters(), 3e-3)
        batches = state.batches(20)
        with in_mode(state.model, training=True):
            for step in range(UPDATES):
                total, count = state.task.loss(state.model, batches[step % len(batches)])
                optimizer.zero_grad()
                (total / count).backward()
                optimizer.step()
        yield f"{name}, trained", state


class Diagonal:
    """The matrix in its eigenbasis, in which Gaussian starts have the law that they have in any other."""

    device = torch.device("cpu")

    def __init__(self, values: Tensor) -> None:
        self.values = values
        self.size = len(values)

    def matvec(self, block: Tensor) -> Tensor:
        return block * self.values


def signed_log(x: Tensor, least: float) -> Tensor:
    return x.sign() * torch.log1p(x.abs() / least)


def midpoint_distance(found: Quadrature, values: Tensor) -> float:
    """Wasserstein-1 between the eigenvalues and a measure read through the midpoints of its stairs, on the log axis."""
    least = 1e-4 * float(values.abs().max())
    nodes, order = signed_log(found.nodes, least).sort()
    weights = found.weights[order]
    middles = weights.cumsum(0) - weights / 2
    levels = (torch.arange(len(values), dtype=torch.float64) + 0.5) / len(values)
    right = torch.searchsorted(middles, levels).clamp(1, len(nodes) - 1)
    low, high = middles[right - 1], middles[right]
    share = ((levels - low) / (high - low).clamp_min(1e-300)).clamp(0, 1)
    quantiles = nodes[right - 1] + share * (nodes[right] - nodes[right - 1])
    return float((quantiles - signed_log(values, least).sort().values).abs().mean())


def slq(matrix, draws, steps, seed):
    found = spectrum(
        matrix, [Generator().manual_seed(10_000 * seed + k) for k in range(draws)], steps=steps, dense_below=0
    )
    mean = mean_quadrature(found.quadratures)
    return matrix.size * mean.moment(1), matrix.size * mean.moment(2), mean, None, None


def budget(matrix, products, seed):
    found = budget_spectrum(matrix, lambda number: Generator().manual_seed(10_000 * seed + number), products=products)
    estimates = (found.trace, found.squared_norm)
    return found.trace.value, found.squared_norm.value, found.density, *(e.interval() for e in estimates)


METHODS = {
    "10 x 90 = 900": lambda matrix, seed: slq(matrix, 10, 90, seed),
    "10 x 40 = 400": lambda matrix, seed: slq(matrix, 10, 40, seed),
    **{f"budget {p}": lambda matrix, seed, p=p: budget(matrix, p, seed) for p in (30, 50, 120, 240, 400)},
}


def main(repeats: int) -> None:
    torch.set_num_threads(1)
    errors = defaultdict(list)
    coverage = defaultdict(list)
    for name, state in states():
        operator = hessian(state.model, state.task.loss, state.batches(1), keep=True)
        matrix = dense(operator.matvec, operator.size, operator.device)
        values = torch.linalg.eigvalsh((matrix + matrix.T) / 2)
        print(f"{name}: n = {len(values):,}, from {values[0]:.3g} to {values[-1]:.3g}", flush=True)
        trace, square = float(values.sum()), float(values.square().sum())
        above = int((values > 1).sum())
        for method, run in METHODS.items():
            rows = []
            for seed in range(repeats):
                t, f, density, *intervals = run(Diagonal(values), seed)
                count = len(values) * float(density.weights[density.nodes > 1].sum())
                rows.append(
                    [(t - trace) / square**0.5, f / square - 1, midpoint_distance(density, values), count - above]
                )
                if intervals[0] is not None:
                    coverage[method] += [
                        low <= x <= high for (low, high), x in zip(intervals, (trace, square), strict=True)
                    ]
            errors[method].append(torch.tensor(rows).square().mean(0).sqrt())
    print(f"\n{'products':16} {'trace':>8} {'norm^2':>8} {'density':>8} {'N(>1)':>8} {'covered':>8}")
    for method, rows in errors.items():
        table = torch.stack(rows)
        means = [*table[:, :3].clamp_min(1e-12).log().mean(0).exp().tolist(), float(table[:, 3].mean())]
        covered = coverage.get(method)
        cell = f"{sum(covered) / len(covered):8.3f}" if covered else " " * 8
        print(f"{method:16} " + " ".join(f"{x:8.4f}" for x in means) + f" {cell}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 24)
