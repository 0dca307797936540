"""Activations put in the place of others while a model computes."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Literal

from torch import Tensor, nn

from lnlab.errors import LabError
from lnlab.interventions.where import Activations
from lnlab.issues import Issue
from lnlab.nn.boundaries import Boundary, Change, activation_boundaries
from lnlab.nn.sites import Site

Through = Literal["both", "forward", "backward"]
"""What is scaled: an activation and its gradient, the activation alone, or the gradient alone."""


@contextmanager
def replaced(model: nn.Module, where: Activations, change: Change) -> Iterator[None]:
    """Inside, ``change(x)`` replaces every x that ``where`` selects; both (batch, length, width).

    Where several act on one activation, the first that was entered comes first.

    Raises:
        LabError: ``where`` selects nothing, or an activation that passes no module of its own.
    """
    with ExitStack() as hooks:
        for boundary in _selected(model, where):
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


def _selected(model: nn.Module, where: Activations) -> list[Boundary]:
    """The boundaries of the selected activations, each once: at the end of a layer ``sum`` may be ``out``."""
    by_site = activation_boundaries(model)
    selected = {site: by_site[site] for site in where.select(list(by_site), "activation")}
    if unreachable := [site for site, boundary in selected.items() if boundary is None]:
        raise LabError(_beyond_reach(unreachable[0]))
    return list(dict.fromkeys(boundary for boundary in selected.values() if boundary is not None))


def _beyond_reach(site: Site) -> Issue:
    what = (
        f"the {site.tensor} of {site.stack} layer {site.layer} {site.sublayer} stands inside the placement's formula, "
        "where nothing can be put in its place"
    )
    remedy = "choose in or branch, the last sublayer of a layer, or a placement that norms the stream"
    return Issue("unsupported", "interventions.where.tensor", what, remedy)
