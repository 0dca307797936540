"""``∂F/∂x_0``: singular values of a stack's Jacobian from its input to its output (Bachlechner et al., 2021).

The mean of their squares, ‖J‖_F²/n, is the growth of a random error signal through the stack. Hutchinson's estimator
computes it from a few products, as E ‖Jᵀv‖² = ‖J‖_F² for v of ±1.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Generator, Tensor, nn
from torch.func import functional_call

from lnlab.nn.sites import Site
from lnlab.nn.transformer import stacks
from lnlab.probes.probe import State, probes
from lnlab.probes.support.float64_copy import doubles, forward_differentiable
from lnlab.probes.support.known_sites import at_all_sites
from lnlab.tables import Row
from lnlab.tasks.task import Batch
from lnlab.vocabulary.outputs import IO_JACOBIAN

_AT_ONCE = 256


@probes.register(
    "io_jacobian",
    version=2,
    table="sites",
    # Few tokens, but a product for each of their coordinates: 16 passes at width 128, 512 tokens a batch, two stacks.
    passes=lambda choice: float(choice["batches"] * (16 if choice["draws"] is None else 1)),
    quantities=IO_JACOBIAN,
    # How many singular values there are depends on the corpus.
    sites=lambda model, _: at_all_sites(
        ["jacobian_mean_square"],
        [
            Site(name, None, sublayer, "out")
            for name, stack in stacks(model).items()
            for sublayer in (None, *(["final_norm"] if stack.final_norm is not None else []))
        ],
    ),
)
def io_jacobian(
    state: State,
    *,
    batches: Annotated[int, Field(ge=1)] = 1,
    split: Literal["train", "validation", "test"] = "train",
    tokens: Annotated[int, Field(ge=1)] | None = 4,
    draws: Annotated[int, Field(ge=1)] | None = None,
) -> Iterator[Row]:
    """``svd(∂F/∂x_0)``: of each stack, from the sum of its embeddings to its output (Bachlechner et al., 2021).

    Taken at the first sentence of each batch, cut to its first ``tokens`` (null: whole), with all its tokens as one
    vector. The output is that of the last layer; where a final norm follows, also the norm's, as ``sublayer:
    final_norm``. ``jacobian_singular_value`` has its rank as ``index``, over all sentences together.
    ``jacobian_mean_square`` is their mean square; with ``draws``, Hutchinson's estimate from so many, and no singular
    values. In float64; dropout is off. A singular value that rounding hides, below n ε times its sentence's largest, is
    0: a layer norm takes two directions from every token.
    """
    module = _StackEndpoints(state.model)
    weights = doubles(module)
    products_by_site: dict[Site, list[tuple[Tensor, int]]] = {}
    with forward_differentiable(state.model), torch.enable_grad():
        for number, batch in enumerate(state.batches(batches, split)):
            lengths = (int(t[0].count_nonzero()) for t in (batch.source, batch.target_in))  # without padding
            source, target = (n if tokens is None else min(n, tokens) for n in lengths)
            first = replace(batch, source=batch.source[:1, :source], target_in=batch.target_in[:1, :target])
            endpoints: dict[Site, tuple[Tensor, Tensor]] = functional_call(module, weights, (first,))
            for site, (start, end) in endpoints.items():
                if draws is None:
                    rows = torch.eye(start.numel(), dtype=start.dtype, device=start.device)
                else:
                    # An address of its own for every site and batch, so that one more stack moves no other's draws.
                    generator = Generator().manual_seed(state.draw("jacobian", number, *site.row().values()))
                    signs = 2 * torch.randint(2, (draws, start.numel()), generator=generator) - 1
                    rows = signs.to(start.device, start.dtype)
                products_by_site.setdefault(site, []).append((products(start, end, rows), start.numel()))
    for site, parts in products_by_site.items():
        size = sum(n for _, n in parts)
        square = sum(part.square().sum().item() / (1 if draws is None else draws) for part, _ in parts)
        yield {"quantity": "jacobian_mean_square", **site.row(), "value": square / size}
        values = [] if draws is not None else torch.cat([singular_values(part) for part, _ in parts]).tolist()
        for rank, value in enumerate(sorted(values, reverse=True), 1):
            yield {"quantity": "jacobian_singular_value", **site.row(), "index": rank, "value": value}


def products(start: Tensor, end: Tensor, rows: Tensor) -> Tensor:
    """``vᵀJ`` for each row v: (rows, elements of the end) -> (rows, elements of the start)."""
    blocks = [
        torch.autograd.grad(end, start, v.view(-1, *end.shape), retain_graph=True, is_grads_batched=True)[0]
        for v in torch.split(rows, _AT_ONCE)
    ]
    return torch.cat(blocks).flatten(1)


def singular_values(jacobian: Tensor) -> Tensor:
    """Singular values in decreasing order. Those below ``n ε σ_1``, n the larger side, are rounding and set to 0.

    Source: Golub and Van Loan.
    """
    values: Tensor = torch.linalg.svdvals(jacobian)
    least = values[:1] * max(jacobian.shape) * torch.finfo(values.dtype).eps
    return values.where(values > least, 0.0)


class _StackEndpoints(nn.Module):
    """Map a batch to each stack's input, as a leaf, and its outputs, by the output's site."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, batch: Batch) -> dict[Site, tuple[Tensor, Tensor]]:
        starts: dict[str, Tensor] = {}
        outputs: dict[Site, Tensor] = {}
        with ExitStack() as hooks:
            for name, stack in stacks(self.model).items():

                def begin(_m: nn.Module, _x: object, y: Tensor, name: str = name) -> Tensor:
                    # What the hook returns replaces the embedding's output, so that the graph begins at this leaf.
                    starts[name] = y.detach().requires_grad_()
                    return starts[name]

                hooks.callback(stack.embedding.register_forward_hook(begin).remove)
                for sublayer, module in ((None, stack.layers[-1]), ("final_norm", stack.final_norm)):
                    if module is not None:
                        site = Site(name, None, sublayer, "out")
                        end = module.register_forward_hook(lambda _m, _x, y, site=site: outputs.__setitem__(site, y))
                        hooks.callback(end.remove)
            self.model(batch)
        return {site: (starts[str(site.stack)], y) for site, y in outputs.items()}
