"""``c x`` in the value, in the gradient, or in both, to strengthen, weaken or (c = 0) cut an arrow."""

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn
from torch.optim import Optimizer

from lnlab.interventions.activations import Through, replaced, scaled
from lnlab.interventions.intervention import interventions
from lnlab.interventions.where import Activations


@interventions.register("rescale", acts_on="function")
@contextmanager
def rescale(
    model: nn.Module, _optimizer: Optimizer | None, *, where: Activations, factor: float, through: Through = "both"
) -> Iterator[None]:
    """``c x``: an activation, its gradient on the way back, or both, times a factor (Ganin and Lempitsky, 2015).

    ``through: forward`` scales the value and leaves the gradient; ``backward`` scales the gradient and leaves every
    value, and with the factor 0 it detaches: no gradient goes back through the site.
    """
    with replaced(model, where, lambda x: scaled(x, factor, through)):
        yield
