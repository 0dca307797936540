"""``∂F/∂x_0``: singular values of a stack's Jacobian from its input to its output (Bachlechner et al., 2021).

The mean of their squares is the growth of a random error signal on its way through the stack: ‖J‖_F²/n, which
Hutchinson's estimator computes from a few products, E ‖Jᵀv‖² = ‖J‖_F² for v of ±1.
"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from typing import Annotated, Any, Literal

import torch
from pydantic import Field
from torch import Generator, Tensor, nn
from torch.func import functional_call

from lnlab.measured.outputs import IO_JACOBIAN
from lnlab.nn.sites import Site
from lnlab.nn.transformer import stacks
from lnlab.probes.probe import State, probes
from lnlab.probes.support.float64_copy import doubles, forward_differentiable
from lnlab.randomness import Draw
from lnlab.tables import Row
from lnlab.tasks.task import Batch

_AT_ONCE = 256


def _passes(params: dict[str, Any]) -> float:
    """A few tokens, but a row for each of their coordinates: 16 at width 128 and 512 tokens a batch, in two stacks."""
    return float(params["batches"] * (16 if params["draws"] is None else 1))


@probes.register("io_jacobian", version=2, table="sites", passes=_passes, quantities=IO_JACOBIAN)
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
    products_by_site: dict[Site, list[tuple[Tensor, int]]] = {}
    with forward_differentiable(state.model), torch.enable_grad():
        for number, batch in enumerate(state.batches(batches, split)):
            for site, (start, end) in _endpoints(state.model, _first(batch, tokens)).items():
                rows = _identity(start) if draws is None else _signs(start, state.draw, draws, site, number)
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
    """Falling; 0 where they are below ``n ε σ_1``, with n the larger side: nothing but rounding (Golub, Van Loan)."""
    values: Tensor = torch.linalg.svdvals(jacobian)
    least = values[:1] * max(jacobian.shape) * torch.finfo(values.dtype).eps
    return values.where(values > least, 0.0)


class _StackEndpoints(nn.Module):
    """From a batch to each stack's input, as a leaf, and its outputs, by the output's site."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, batch: Batch) -> dict[Site, tuple[Tensor, Tensor]]:
        starts: dict[str, Tensor] = {}
        outputs: dict[Site, Tensor] = {}
        with ExitStack() as hooks:
            for name, stack in stacks(self.model).items():

                def begin(_m: nn.Module, _x: object, y: Tensor, name: str = name) -> Tensor:
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


def _endpoints(model: nn.Module, batch: Batch) -> Mapping[Site, tuple[Tensor, Tensor]]:
    module = _StackEndpoints(model)
    endpoints: dict[Site, tuple[Tensor, Tensor]] = functional_call(module, doubles(module), (batch,))
    return endpoints


def _first(batch: Batch, tokens: int | None) -> Batch:
    """The first sentence alone, cut to so many tokens and without padding."""
    source, target = (int(t[0].count_nonzero()) for t in (batch.source, batch.target_in))
    source, target = (n if tokens is None else min(n, tokens) for n in (source, target))
    return replace(batch, source=batch.source[:1, :source], target_in=batch.target_in[:1, :target])


def _identity(start: Tensor) -> Tensor:
    return torch.eye(start.numel(), dtype=start.dtype, device=start.device)


def _signs(start: Tensor, draw: Draw, draws: int, site: Site, number: int) -> Tensor:
    """±1, (draws, elements), by an address of their own."""
    generator = Generator().manual_seed(draw("jacobian", number, *site.row().values()))
    signs = 2 * torch.randint(2, (draws, start.numel()), generator=generator) - 1
    return signs.to(start.device, start.dtype)
