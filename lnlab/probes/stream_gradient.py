"""``‖dL/dx‖``: the size of the error signal at every site of the residual stream (Liu et al., 2020).

L is the loss per token of a batch and x the vectors of all its tokens at one site, (tokens, width) as one vector. Over
K batches the squares are averaged,

    sqrt(1/K Σ_b ‖dL_b/dx_b‖²),

so that its square does not depend on K in expectation, and one batch gives its norm. It depends on the size of the
batches, as the gradients of T tokens are of order 1/T each, and their joint norm is of order 1/√T. Squares are in
float64.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor

from lnlab.nn.sites import Site, separated
from lnlab.probes.probe import State, probes, with_gradient
from lnlab.probes.support.known_sites import at_all_sites, stream_sites
from lnlab.probes.support.stream_sums import site_sums
from lnlab.tables import Row
from lnlab.tasks.task import Batch
from lnlab.vocabulary.gradients import STREAM_GRADIENT


@probes.register(
    "stream_gradient",
    table="sites",
    passes=with_gradient,
    quantities=STREAM_GRADIENT,
    sites=lambda model, _: at_all_sites(["stream_gradient"], [site for site in stream_sites(model) if _reached(site)]),
    any_stream=True,
)
def stream_gradient(
    state: State,
    *,
    batches: Annotated[int, Field(ge=1)] = 6,
    split: Literal["train", "validation", "test"] = "train",
) -> Iterator[Row]:
    """``‖dL/dx‖``: gradient of the loss per token along the residual stream (Liu et al., 2020).

    Measured at every sublayer (``branch``, ``sum``, ``out``), after the embedding and after the final norm; ``out`` is
    where the paper's authors look: after the norm in Post-LN, after the addition in Pre-LN. The norm is over the real
    tokens of a batch together, and the root mean square over batches. What the loss does not depend on has 0. Dropout
    is off.
    """
    with separated(state.model):  # so that the stream has a gradient where the weights below it are frozen
        sums = site_sums(state, batches, split, lambda g, mask: g[mask].square().sum(), site_gradients)
    for site, square in sums.items():
        yield {"quantity": "stream_gradient", **site.row(), "value": (square / batches).sqrt().item()}


def _reached(site: Site) -> bool:
    return site.tensor != "in"


def site_gradients(
    state: State,
    batch: Batch,
    seen: Mapping[Site, Tensor],
    selected: Callable[[Site], bool] = _reached,
) -> dict[Site, Tensor]:
    """Gradients of the loss per token of a batch at the ``selected`` sites: (batch, length, width) by site."""
    with torch.enable_grad():
        loss, count = state.task.loss(state.model, batch)
        points = {site: x for site, x in seen.items() if selected(site)}
        gradients = torch.autograd.grad(loss / count, tuple(points.values()), allow_unused=True, materialize_grads=True)
    return dict(zip(points, gradients, strict=True))
