"""``H v = d/dθ (dL/dθ · v)``: the Hessian's product by differentiating twice (Pearlmutter, 1994).

The gradient is taken with its graph, once per shard. Each product is one backward pass through that graph.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from lnlab.curvature.operators import Linearized, Loss, Sharded, summed_loss, vector_jacobian_products


def hessian(
    model: nn.Module, loss: Loss, batches: Iterable[Any], parameters: Sequence[Tensor] | None = None, **options: Any
) -> Sharded:
    """The Hessian of the mean loss over ``batches``. Arguments and options are those of ``Sharded``.

    >>> model = nn.Linear(2, 1, bias=False)
    >>> squares = lambda model, x: (model(x).square().sum() / 2, len(x))
    >>> hessian(model, squares, [torch.tensor([[1.0, 2.0]])]).matvec(torch.tensor([1.0, 0.0]))
    tensor([1., 2.], dtype=torch.float64)
    """
    return Sharded(
        linearize=linearized_hessian,
        model=model,
        loss=loss,
        batches=batches,
        parameters=parameters,
        of_gradient=True,
        **options,
    )


def linearized_hessian(model: nn.Module, loss: Loss, batch: Any, parameters: Sequence[Tensor]) -> Linearized:
    """The gradient of the summed loss of one shard, with its graph."""
    total, count = summed_loss(model, loss, batch)
    gradients = torch.autograd.grad(total, parameters, create_graph=True, allow_unused=True, materialize_grads=True)
    products, last = (vector_jacobian_products(gradients, parameters, retain=retain) for retain in (True, False))
    return Linearized(total, count, products, last)
