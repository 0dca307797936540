"""``G v = Jᵀ H_out J v``: the generalized Gauss-Newton matrix (Schraudolph, 2002).

J is the Jacobian of the model's output z, and H_out the Hessian of the loss in z. G is what is left of the Hessian
where the model is replaced by its linearization; it is positive semi-definite if the loss is convex in z. The product
J v is the derivative of u -> Jᵀ u, which is linear, in the direction v, so that backward passes are all that is needed.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from lnlab.curvature.operators import Linearized, Loss, Products, Sharded, summed, transposed


def ggn(
    model: nn.Module, loss: Loss, batches: Iterable[Any], parameters: Sequence[Tensor] | None = None, **options: Any
) -> Sharded:
    """The generalized Gauss-Newton matrix of the mean loss; arguments and options are those of ``Sharded``.

    The loss must call the model once, and see the parameters through its output, one tensor, alone.

    Raises:
        ValueError: it does not; or as ``Sharded``.
    """
    return Sharded(linearized, model, loss, batches, parameters, **options)


def linearized(model: nn.Module, loss: Loss, batch: Any, parameters: Sequence[Tensor]) -> Linearized:
    """The graphs of one shard: of the loss in z twice, of z, and of u -> Jᵀ u."""
    watched = _Watched(model)
    total, count = summed(watched, loss, batch)
    z = _output(watched, total, parameters)
    slope = torch.autograd.grad(total, z, create_graph=True, materialize_grads=True)
    u = torch.zeros_like(z, requires_grad=True)
    back = torch.autograd.grad(z, parameters, u, create_graph=True, allow_unused=True, materialize_grads=True)
    forward, bend, backward = transposed(back, [u]), transposed(slope, [z]), transposed([z], parameters)
    return Linearized(total, count, _chain(forward, bend, backward))


def _chain(*factors: Products) -> Products:
    """One product after another."""

    def product(rows: Sequence[Tensor]) -> list[Tensor]:
        for factor in factors:
            rows = factor(rows)
        return list(rows)

    return product


class _Watched(nn.Module):
    """A model that remembers what it has said."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model
        self.said: list[Any] = []
        self.eval()

    def forward(self, *given: Any, **named: Any) -> Any:
        """As the model's."""
        self.said.append(self.model(*given, **named))
        return self.said[-1]


def _output(watched: _Watched, loss: Tensor, parameters: Sequence[Tensor]) -> Tensor:
    """z, through which alone the loss sees the parameters: without z's node none can be reached from the loss's."""
    if len(watched.said) != 1 or not isinstance(watched.said[0], Tensor):
        raise ValueError(f"found {len(watched.said)} calls of the model, expected one that gives one tensor")
    z: Tensor = watched.said[0]
    known, seen, waiting = {id(p) for p in parameters}, {z.grad_fn}, [loss.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        if id(getattr(node, "variable", None)) in known:
            raise ValueError("found a loss that sees parameters beside the model's output, expected through it alone")
        seen.add(node)
        waiting.extend(child for child, _ in node.next_functions)
    return z
