"""Activations put in the place of others while a model computes."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Literal

from torch import Tensor, nn

from lnlab.errors import LabError, Problem
from lnlab.interventions.where import Activations
from lnlab.nn.boundaries import Boundary, Change, boundaries
from lnlab.nn.sites import Site

Through = Literal["both", "forward", "backward"]
"""What is scaled: an activation and its gradient, the activation alone, or the gradient alone."""


@contextmanager
def replaced(model: nn.Module, where: Activations, change: Change) -> Iterator[None]:
    """Inside, ``change(x)`` passes in the place of every x that ``where`` takes: (batch, length, width), twice.

    What is put in place first comes first where several act on one activation.

    Raises:
        LabError: ``where`` takes nothing, or what passes no module of its own.
    """
    with ExitStack() as hooks:
        for boundary in _taken(model, where):
            hooks.callback(boundary.put(change).remove)
        yield


def factors(x: Tensor, factor: Tensor | float, through: Through) -> Tensor:
    """``factor · x`` as a value, as a derivative, or as both; what is not scaled has the factor 1.

    x - x is 0, so that both factors are exact, whichever way and however often it is differentiated.
    """
    fixed = x.detach()
    value = fixed if through == "backward" else factor * fixed
    slope = x - fixed if through == "forward" else factor * (x - fixed)
    return value + slope


def _taken(model: nn.Module, where: Activations) -> list[Boundary]:
    """Where to act, each once: at the end of a layer the sum may be what goes on."""
    known = boundaries(model)
    taken = {site: known[site] for site in where.chosen(list(known), "activation")}
    if beyond := [site for site, boundary in taken.items() if boundary is None]:
        raise LabError(_beyond_reach(beyond[0]))
    return list(dict.fromkeys(boundary for boundary in taken.values() if boundary is not None))


def _beyond_reach(site: Site) -> Problem:
    what = (
        f"the {site.tensor} of {site.stack} layer {site.layer} {site.sublayer} stands inside the placement's formula, "
        "where nothing can be put in its place"
    )
    remedy = "choose in or branch, the last sublayer of a layer, or a placement that norms the stream"
    return Problem("interventions.where.tensor", what, remedy)
