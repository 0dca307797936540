"""``g_i rms(g) / rms(g_i)``: all weights get gradients of one size, and their overall size is unchanged.

rms(g) is over the entries of all chosen weights: sqrt(Σ ‖g_i‖² / Σ n_i).
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from lnlab.interventions.intervention import interventions
from lnlab.interventions.updates import Gradients, selected_weights, transformed_gradients
from lnlab.interventions.where import EVERYWHERE, Weights
from lnlab.nn.sites import Site


@interventions.register("equalize_gradient", acts_on="update")
@contextmanager
def equalize_gradient(model: nn.Module, optimizer: Optimizer | None, *, where: Weights = EVERYWHERE) -> Iterator[None]:
    """``g_i rms(g) / rms(g_i)``: every chosen weight's gradient with one root mean square (Yu et al., 2017).

    That of all of them together, whose norm does not change. A gradient of zeros stays zero. The optimizer sees the
    equalized gradient, after any clipping; probes see the true one.
    """
    with transformed_gradients(optimizer, selected_weights(model, where), equalized):
        yield


def equalized(gradients: Gradients) -> dict[Site, Tensor]:
    """``g_i rms(g) / rms(g_i)`` of each weight. A gradient of zeros stays zero."""
    squares = {site: g.double().square().mean() for site, g in gradients.items()}
    elements = sum(g.numel() for g in gradients.values())
    total = sum(squares[site] * g.numel() for site, g in gradients.items()) / max(elements, 1)
    return {
        site: g * torch.where(squares[site] > 0, total / squares[site], 1).sqrt().to(g.dtype)
        for site, g in gradients.items()
    }
