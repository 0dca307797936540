"""Replacement of activations in a forward pass."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Literal

from torch import Tensor, nn

from lnlab.errors import LabError
from lnlab.interventions.where import Activations
from lnlab.issues import Issue
from lnlab.nn.boundaries import Change, activation_boundaries

Through = Literal["both", "forward", "backward"]
"""What is scaled: an activation and its gradient, the activation alone, or the gradient alone."""


@contextmanager
def replaced(model: nn.Module, where: Activations, change: Change) -> Iterator[None]:
    """Inside the block ``change(x)`` replaces every x that ``where`` selects, (batch, length, width).

    Where several interventions act on one activation, the one that was entered first changes it first.

    Raises:
        LabError: ``where`` selects nothing, or an activation that passes no module of its own.
    """
    by_site = activation_boundaries(model)
    boundaries = []
    for site in where.select(list(by_site), "activation"):
        boundary = by_site[site]
        if boundary is None:
            what = (
                f"the {site.tensor} of {site.stack} layer {site.layer} {site.sublayer} stands inside the placement's "
                "formula, where nothing can be put in its place"
            )
            remedy = "choose in or branch, the last sublayer of a layer, or a placement that norms the stream"
            raise LabError(Issue("unsupported", "interventions.where.tensor", what, remedy))
        boundaries.append(boundary)
    with ExitStack() as hooks:
        for boundary in dict.fromkeys(boundaries):  # each once: at the end of a layer `sum` may be `out`
            hooks.callback(boundary.put(change).remove)
        yield


def scaled(x: Tensor, factor: Tensor | float, through: Through) -> Tensor:
    """``factor · x`` in the value, in the derivative, or in both. The part that is not scaled has the factor 1.

    The second term is 0 in value and carries the derivative alone. Both factors are therefore exact, in forward and
    backward mode and for derivatives of any order.
    """
    fixed = x.detach()
    value = fixed if through == "backward" else factor * fixed
    slope = x - fixed if through == "forward" else factor * (x - fixed)
    return value + slope
