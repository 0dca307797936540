"""Where an activation passes from one module to the next, so that another can be put in its place.

A branch, and what it is given, passes its sublayer. The sum passes a module only where a norm of the stream follows it,
which then returns what goes on, or where it leaves the layer; elsewhere it stands inside a placement's formula.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from lnlab.nn.sites import Site, norms_stream
from lnlab.nn.transformer import Layer, Stack

Change = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Boundary:
    """A module, and the side of it on which the activation passes: what it is given first, or what it returns."""

    module: nn.Module
    given: bool

    def put(self, change: Change) -> RemovableHandle:
        """From now on ``change(x)`` passes in the place of x, until the handle is removed.

        An activation that a module is given twice, as queries and as keys, is replaced in both places.
        """
        if not self.given:
            return self.module.register_forward_hook(lambda _m, _given, x: change(x))

        def enter(_module: nn.Module, given: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
            changed = change(given[0])
            return tuple(changed if x is given[0] else x for x in given)

        return self.module.register_forward_pre_hook(enter)


def boundaries(model: nn.Module) -> dict[Site, Boundary | None]:
    """Every activation by its address, in the order in which they pass; None where no module is passed.

    Of each sublayer ``in``, ``branch``, ``sum`` and ``out``; of the embedding ``out``; of the final norm ``in`` and
    ``out``.
    """
    found: dict[Site, Boundary | None] = {}
    for name, module in model.named_modules():
        if isinstance(module, Stack):
            found |= dict(_of_stack(name, module))
    return found


def _of_stack(name: str, stack: Stack) -> Iterator[tuple[Site, Boundary | None]]:
    yield Site(name, None, "embedding", "out"), Boundary(stack.embedding, given=False)
    for number, layer in enumerate(stack.layers, 1):
        if isinstance(layer, Layer):
            yield from _of_layer(name, number, layer)
    if stack.final_norm is not None:
        yield Site(name, None, "final_norm", "in"), Boundary(stack.final_norm, given=True)
        yield Site(name, None, "final_norm", "out"), Boundary(stack.final_norm, given=False)


def _of_layer(stack: str, number: int, layer: Layer) -> Iterator[tuple[Site, Boundary | None]]:
    after = stream_norms(layer)
    for name, sublayer in layer.sublayers.items():
        leaves = Boundary(layer, given=False) if name == tuple(layer.sublayers)[-1] else None
        norm = after.get(name)
        passing = {
            "in": Boundary(sublayer, given=True),
            "branch": Boundary(sublayer, given=False),
            "sum": leaves if norm is None else Boundary(norm, given=True),
            "out": leaves if norm is None else Boundary(norm, given=False),
        }
        yield from ((Site(stack, number, name, tensor), boundary) for tensor, boundary in passing.items())


def stream_norms(layer: Layer) -> dict[str, nn.Module]:
    """By the name of each sublayer the norm of its sum, where the placement says that it norms the stream."""
    if not norms_stream(layer):
        return {}
    return dict(zip(layer.sublayers, layer.placement.norms, strict=True))  # type: ignore[arg-type]
