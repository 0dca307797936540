"""A step of Lanczos here, by PyHessian 0.1 and by curvlinops 3: the same module, pairs and start vector.

    python benchmarks/curvature_peers.py [pairs] [d_model] [vocabulary] [steps] [blocks] [threads] [norm]

Peers are fed as their users feed them, in padded batches of 50 in file order, and again with our length-sorted shards.
They rebuild their graphs in every step; ours are made once, which is timed apart and spread over the 90 steps of a
spectrum. A first block warms up; blocks alternate; medians of the ratios are printed, with our own step against itself
as the noise floor, and how far the tridiagonal coefficients lie apart as a share of the largest. Those of curvlinops
agree with RMSNorm alone: it takes the jvp of a jacrev, which torch 2.13 has wrong for the scale of a LayerNorm. Peers
are an extra: ``pip install lnlab[peers]``, and curvlinops with ``--no-deps``, so that it does not replace torch.
Float32 everywhere, attention by its formula for all.
"""

import importlib
import sys
import warnings
from collections.abc import Callable
from statistics import median
from time import perf_counter

import torch
from pairs import by_length, in_file_order, padding, size_of, state_of
from torch import Tensor, nn

from lnlab.curvature.guards import twice_differentiable
from lnlab.curvature.hessian import hessian
from lnlab.curvature.lanczos import lanczos
from lnlab.curvature.operators import flatten
from lnlab.probes.probe import State
from lnlab.tasks.task import Batch

SEED = 1
SPECTRUM = 90
Coefficients = tuple[Tensor, Tensor]
Found = tuple[Coefficients, float]
Runner = Callable[[], Found]


class Inputs(dict):
    """What a peer takes for a batch of inputs: a mapping, with a size in tokens and a device."""

    def __init__(self, batch: Batch) -> None:
        super().__init__(source=batch.source, target_in=batch.target_in)
        self.tokens = batch.tokens

    def size(self, _: int) -> int:
        """Tokens, so that a mean of batches is weighted by them."""
        return self.tokens

    def to(self, _: object) -> "Inputs":
        return self


class Logits(nn.Module):
    """The model from inputs to a row of logits a position."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, inputs: Inputs) -> Tensor:
        given = type("Pairs", (), dict(inputs))
        return self.model(given).flatten(0, 1)


def start_of(state: State) -> Tensor:
    """PyHessian's own start vector: ±1 from the default generator."""
    torch.manual_seed(SEED)
    signs = [torch.randint_like(p, high=2) for p in state.model.parameters()]
    return flatten([(2 * s - 1)[None] for s in signs]).double()


def ours(state: State, batches: list[Batch], steps: int, threads: int) -> Runner:
    def run() -> Found:
        torch.set_num_threads(1)
        start = perf_counter()
        operator = hessian(state.model, state.task.loss, batches, keep=True, threads=threads)
        made = perf_counter() - start
        found = lanczos(operator.matvec, start_of(state), steps)[0]
        return (found.alphas, found.betas[:-1]), made

    return run


def pyhessian(state: State, batches: list[Batch], steps: int, threads: int) -> Runner:
    """Its own Lanczos; what it asks of ``torch.eig``, which torch no longer has, is its matrix T."""
    module = importlib.import_module("pyhessian")
    data = [(Inputs(b), b.target_out.flatten()) for b in batches]
    made: list[Tensor] = []

    def eig(T: Tensor, **_: object) -> tuple[Tensor, Tensor]:
        made.append(T)
        return torch.linalg.eigh(T)[0][:, None], torch.linalg.eigh(T)[1]

    def run() -> Found:
        torch.set_num_threads(threads)
        torch.eig = eig
        state.model.zero_grad(set_to_none=True)
        with warnings.catch_warnings(), twice_differentiable():
            warnings.simplefilter("ignore")  # that backward(create_graph=True) leaks
            its = module.hessian(Logits(state.model), nn.CrossEntropyLoss(ignore_index=0), dataloader=data, cuda=False)
            torch.manual_seed(SEED)
            its.density(iter=steps, n_v=1)
        state.model.zero_grad(set_to_none=True)
        return (made[-1].diagonal().double(), made[-1].diagonal(1).double()), 0.0

    return run


def curvlinops(state: State, batches: list[Batch], steps: int, threads: int) -> Runner:
    """Its product in our recurrence without a basis, which is its own algorithm and costs next to nothing."""
    module = importlib.import_module("curvlinops")
    data = [(Inputs(b), b.target_out.flatten()) for b in batches]
    tokens = sum(b.tokens for b in batches)
    model = Logits(state.model)

    def run() -> Found:
        torch.set_num_threads(threads)
        with warnings.catch_warnings(), twice_differentiable():
            warnings.simplefilter("ignore")  # torch.func asks for what torch deprecates
            operator = module.HessianLinearOperator(
                model,
                nn.CrossEntropyLoss(ignore_index=0, reduction="sum"),
                list(model.parameters()),
                data,
                batch_size_fn=lambda inputs: inputs.tokens,
                check_deterministic=False,
            )
            product = lambda block: (operator @ block[0].float())[None].detach() / tokens  # noqa: E731
            found = lanczos(product, start_of(state), steps, reorthogonalize=False)[0]
        return (found.alphas, found.betas[:-1]), 0.0

    return run


def apart(one: Coefficients, other: Coefficients) -> float:
    """The largest difference, as a share of the largest coefficient."""
    largest = max(float(c.abs().max()) for c in one)
    return max(float((a - b).abs().max()) for a, b in zip(one, other, strict=True)) / largest


def compare(name: str, peer: Runner, us: Runner, steps: int, blocks: int) -> None:
    ratios, whole, own, making, noise, away = [], [], [], [], [], 0.0
    for block in range(blocks + 1):
        seconds, set_up, answers = [], [], []
        for run in (us, peer, us):
            start = perf_counter()
            coefficients, made = run()
            seconds.append((perf_counter() - start - made) / steps)
            set_up.append(made)
            answers.append(coefficients)
        away = max(away, apart(answers[0], answers[1]))
        if not block:
            continue  # memory that a process touches for the first time is slow
        step, made = (seconds[0] + seconds[2]) / 2, (set_up[0] + set_up[2]) / 2
        ratios.append(seconds[1] / step)
        whole.append(seconds[1] / (step + made / SPECTRUM))
        noise.append(seconds[2] / seconds[0])
        own.append(step)
        making.append(made)
    print(
        f"{name}: {median(ratios):.2f} times our step of {median(own):.3f} s, {min(ratios):.2f} to {max(ratios):.2f}; "
        f"with the {median(making):.1f} s of our graphs spread over {SPECTRUM} steps {median(whole):.2f}; "
        f"ours against itself {median(noise):.3f}; coefficients {away:.1e} apart",
        flush=True,
    )


def main(pairs: int, width: int, vocabulary: int, steps: int, blocks: int, threads: int, norm: str = "layer") -> None:
    state = state_of(width, vocabulary, norm=norm)
    theirs, shards = in_file_order(state, pairs), by_length(state, pairs)
    print(f"{pairs} pairs, {sum(b.tokens for b in shards):,} target tokens, {steps} steps, {threads} threads")
    print(f"padding: {padding(theirs):.1%} in file order, {padding(shards):.1%} by length")
    for peer, make in {"pyhessian": pyhessian, "curvlinops": curvlinops}.items():
        for fed, batches in {"batches of 50 in file order": theirs, "our shards": shards}.items():
            try:
                run = make(state, batches, steps, threads)
            except ImportError as error:
                print(f"{peer}: not installed ({error}); pip install 'lnlab[peers]'")
                break
            compare(f"{peer}, {fed}", run, ours(state, shards, steps, threads), steps, blocks)
    print(f"basis of our run: {8 * steps * size_of(state) / 2**20:.0f} MiB")


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:7]]
    main(*(given + [1000, 128, 8000, 5, 5, 2][len(given) :]), *sys.argv[7:8])
