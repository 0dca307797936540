"""``c Δw``: the scheduled learning rate times a factor, for some of the weights."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

from pydantic import Field
from torch import nn
from torch.optim import Optimizer

from lnlab.interventions.intervention import interventions
from lnlab.interventions.updates import require_optimizer, scaled_rates, selected_weights
from lnlab.interventions.where import Weights


@interventions.register("rescale_learning_rate", acts_on="update")
@contextmanager
def rescale_learning_rate(
    model: nn.Module, optimizer: Optimizer | None, *, where: Weights, factor: Annotated[float, Field(ge=0)]
) -> Iterator[None]:
    """``c Δw``: the chosen weights' learning rate, and so their step, times a factor (Howard and Ruder, 2018).

    Decay of weights that is coupled to the rate is scaled too.
    """
    stepped = require_optimizer(optimizer)
    with scaled_rates(stepped, dict.fromkeys(selected_weights(model, where).values(), factor)):
        yield
