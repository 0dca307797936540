"""Where an activation passes from one module to the next, so that another can be put in its place.

A branch and its input pass the module of its sublayer. The sum passes a module only where a norm of the stream follows
it, or where it leaves the layer. Elsewhere it stands inside a placement's formula.
"""

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from lnlab.nn.sites import Site, norms_stream
from lnlab.nn.transformer import Layer, stacks

Change = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Boundary:
    """A module, and the side of it on which the activation passes: its first input, or its output."""

    module: nn.Module
    at_input: bool

    def put(self, change: Change) -> RemovableHandle:
        """Pass on ``change(x)`` in the place of x, until the handle is removed.

        An activation that a module has as two inputs, as queries and as keys, is replaced in both.
        """
        if not self.at_input:
            return self.module.register_forward_hook(lambda _m, _inputs, x: change(x))

        def enter(_module: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
            changed = change(inputs[0])
            return tuple(changed if x is inputs[0] else x for x in inputs)

        return self.module.register_forward_pre_hook(enter)


def activation_boundaries(model: nn.Module) -> dict[Site, Boundary | None]:
    """Boundary of every activation by its address, in the order of a forward pass.

    The boundary is None where the activation passes no module.

    Each sublayer has ``in``, ``branch``, ``sum`` and ``out``, the embedding has ``out``, and the final norm has ``in``
    and ``out``.
    """
    by_site: dict[Site, Boundary | None] = {}
    for name, stack in stacks(model).items():
        by_site[Site(name, None, "embedding", "out")] = Boundary(stack.embedding, at_input=False)
        for number, layer in enumerate(stack.layers, 1):
            if not isinstance(layer, Layer):
                continue
            norm_after = stream_norms(layer)
            # The sum of the last sublayer leaves the layer; any other passes a module only where a norm follows it.
            for sublayer, module in layer.sublayers.items():
                leaves = Boundary(layer, at_input=False) if sublayer == tuple(layer.sublayers)[-1] else None
                norm = norm_after.get(sublayer)
                passing = {
                    "in": Boundary(module, at_input=True),
                    "branch": Boundary(module, at_input=False),
                    "sum": leaves if norm is None else Boundary(norm, at_input=True),
                    "out": leaves if norm is None else Boundary(norm, at_input=False),
                }
                by_site |= {Site(name, number, sublayer, tensor): boundary for tensor, boundary in passing.items()}
        if stack.final_norm is not None:
            by_site[Site(name, None, "final_norm", "in")] = Boundary(stack.final_norm, at_input=True)
            by_site[Site(name, None, "final_norm", "out")] = Boundary(stack.final_norm, at_input=False)
    return by_site


def stream_norms(layer: Layer) -> dict[str, nn.Module]:
    """Norm of each sublayer's sum by the sublayer's name. It is empty unless the placement norms the stream."""
    if not norms_stream(layer):
        return {}
    return dict(zip(layer.sublayers, layer.placement.norms, strict=True))  # type: ignore[arg-type]
