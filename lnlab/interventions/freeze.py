"""``Δw = 0``: weights that stay where they are while the others move."""

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn
from torch.optim import Optimizer

from lnlab.interventions.intervention import interventions
from lnlab.interventions.updates import selected_weights, transformed_gradients
from lnlab.interventions.where import Weights


@interventions.register("freeze", acts_on="update")
@contextmanager
def freeze(model: nn.Module, optimizer: Optimizer | None, *, where: Weights) -> Iterator[None]:
    """``Δw = 0``: the chosen weights get no gradient and make no step (Yosinski et al., 2014).

    Neither weight decay nor momentum moves them, and what an optimizer remembers of them stays as it was. Probes see
    their gradients all the same.
    """
    # fromkeys gives every chosen weight None, which stands for no gradient: optimizers skip a weight without one.
    with transformed_gradients(optimizer, selected_weights(model, where), dict.fromkeys):
        yield
