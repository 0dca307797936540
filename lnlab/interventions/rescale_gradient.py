"""``c 10^u g`` with u ~ U(-a, a) for each weight: does an optimizer see how large a gradient is?

Adam's step is m/√v, so that a constant factor on g does not change it, apart from epsilon. An SGD step is scaled with
g.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import torch
from pydantic import Field
from torch import Generator, Tensor, nn
from torch.optim import Optimizer

from lnlab.interventions.intervention import interventions
from lnlab.interventions.updates import Gradients, selected_weights, transformed_gradients
from lnlab.interventions.where import EVERYWHERE, Weights
from lnlab.nn.sites import Site
from lnlab.randomness import Draw


@interventions.register("rescale_gradient", acts_on="update")
@contextmanager
def rescale_gradient(
    model: nn.Module,
    optimizer: Optimizer | None,
    *,
    where: Weights = EVERYWHERE,
    factor: Annotated[float, Field(gt=0)] = 1.0,
    spread: Annotated[float, Field(ge=0, le=10)] = 0.0,
    draw: int = 1,
) -> Iterator[None]:
    """``c 10^U(-a, a) g``: every chosen weight's gradient, times a factor of its own (Kingma and Ba, 2015).

    ``factor`` is c and ``spread`` a; each weight keeps its factor, drawn by ``draw`` and its address. The optimizer
    sees the scaled gradient, after any clipping; probes see the true one.
    """
    weights = selected_weights(model, where)
    scales = {site: factor * 10 ** (spread * uniform_at(Draw(draw), site)) for site in weights}

    def scaled(gradients: Gradients) -> dict[Site, Tensor]:
        return {site: scales[site] * g for site, g in gradients.items()}

    with transformed_gradients(optimizer, weights, scaled):
        yield


def uniform_at(draw: Draw, site: Site) -> float:
    """Draw from U(-1, 1) by address, independently of the other chosen weights."""
    generator = Generator().manual_seed(draw("rescale_gradient", *site.row().values()))
    # On the CPU, as the generator is, whatever the default device.
    return 2 * torch.rand((), generator=generator, dtype=torch.float64, device="cpu").item() - 1
