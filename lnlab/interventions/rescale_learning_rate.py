"""``c Δw``: a learning rate of their own for some of the weights, whatever the schedule makes of the common one.

For the time of a step each group of the optimizer is two, of which one has the scaled rate. So the step is to the last
bit that of an optimizer with these two groups.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

from pydantic import Field
from torch import nn
from torch.optim import Optimizer

from lnlab.interventions.intervention import interventions
from lnlab.interventions.updates import around_steps, require_optimizer, selected_weights
from lnlab.interventions.where import Weights

_Group = dict[str, Any]


@interventions.register("rescale_learning_rate", acts_on="update")
@contextmanager
def rescale_learning_rate(
    model: nn.Module, optimizer: Optimizer | None, *, where: Weights, factor: Annotated[float, Field(ge=0)]
) -> Iterator[None]:
    """``c Δw``: the chosen weights' learning rate, and so their step, times a factor (Howard and Ruder, 2018).

    Decay of weights that is coupled to the rate is scaled too.
    """
    stepped = require_optimizer(optimizer)
    selected = {id(p) for p in selected_weights(model, where).values()}

    def before() -> Callable[[], None]:
        groups = list(stepped.param_groups)
        stepped.param_groups[:] = [part for group in groups for part in _parts(group, selected, factor)]

        def after() -> None:
            stepped.param_groups[:] = groups

        return after

    with around_steps(stepped, before):
        yield


def _parts(group: _Group, selected: set[int], factor: float) -> list[_Group]:
    """A group without the selected weights, and these with the scaled rate; neither if it has no weights."""
    others = {**group, "params": [p for p in group["params"] if id(p) not in selected]}
    scaled = {**group, "params": [p for p in group["params"] if id(p) in selected], "lr": factor * group["lr"]}
    return [part for part in (others, scaled) if part["params"]]
