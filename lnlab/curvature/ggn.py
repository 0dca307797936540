"""``G v = Jᵀ H_out J v``: the generalized Gauss-Newton matrix (Schraudolph, 2002).

J is the Jacobian of the model's output z, and H_out the Hessian of the loss in z. G is the Hessian of the loss with the
model replaced by its linearization. It is positive semi-definite if the loss is convex in z. The product J v is the
derivative of u -> Jᵀ u, which is linear, in the direction v, so that backward passes are all that is needed.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from lnlab.curvature.guards import CurvatureError
from lnlab.curvature.operators import Linearized, Loss, Sharded, summed_loss, vector_jacobian_products


def ggn(
    model: nn.Module, loss: Loss, batches: Iterable[Any], parameters: Sequence[Tensor] | None = None, **options: Any
) -> Sharded:
    """The generalized Gauss-Newton matrix of the mean loss. Arguments and options are those of ``Sharded``.

    The loss must call the model once. It may depend on the parameters only through the output, one tensor.

    Raises:
        ValueError: it does not meet this, or as ``Sharded``.
    """
    return Sharded(linearize=linearized_ggn, model=model, loss=loss, batches=batches, parameters=parameters, **options)


def linearized_ggn(model: nn.Module, loss: Loss, batch: Any, parameters: Sequence[Tensor]) -> Linearized:
    """The graphs of one shard: of the loss in z twice, of z, and of u -> Jᵀ u."""
    recorded = _RecordedModel(model)
    total, count = summed_loss(recorded, loss, batch)
    z = _output(recorded, total, parameters)
    slope = torch.autograd.grad(total, z, create_graph=True, materialize_grads=True)
    u = torch.zeros_like(z, requires_grad=True)  # Jᵀ u is linear in u: any value will do
    back = torch.autograd.grad(z, parameters, u, create_graph=True, allow_unused=True, materialize_grads=True)
    forward = vector_jacobian_products(back, [u])
    output_hessian = vector_jacobian_products(slope, [z])
    backward = vector_jacobian_products([z], parameters)
    return Linearized(total, count, lambda rows: backward(output_hessian(forward(rows))))


class _RecordedModel(nn.Module):
    """A model that records its outputs."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model
        self.outputs: list[Any] = []
        self.eval()

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the model."""
        self.outputs.append(self.model(*args, **kwargs))
        return self.outputs[-1]


def _output(recorded: _RecordedModel, loss: Tensor, parameters: Sequence[Tensor]) -> Tensor:
    """Return z, after checking that the loss depends on the parameters only through z."""
    if len(recorded.outputs) != 1 or not isinstance(recorded.outputs[0], Tensor):
        what = f"found {len(recorded.outputs)} calls of the model, expected one that gives one tensor"
        raise CurvatureError(what, "call the model once in the loss, or take the operator hessian")
    z: Tensor = recorded.outputs[0]
    known = {id(p) for p in parameters}
    seen = {z.grad_fn}
    waiting = [loss.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        if id(getattr(node, "variable", None)) in known:
            what = "found a loss that sees parameters beside the model's output, expected through it alone"
            raise CurvatureError(what, "leave the penalty out, or take the operator hessian")
        seen.add(node)
        waiting.extend(child for child, _ in node.next_functions)
    return z
