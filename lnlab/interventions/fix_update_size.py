"""``‖Δw‖ = c ‖w‖``: every update is the same share of its weight, in the optimizer's direction."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import nn
from torch.optim import Optimizer

from lnlab.interventions.intervention import interventions
from lnlab.interventions.updates import around_steps, require_optimizer, selected_weights
from lnlab.interventions.where import Weights


@interventions.register("fix_update_size", acts_on="update")
@contextmanager
def fix_update_size(
    model: nn.Module,
    optimizer: Optimizer | None,
    *,
    where: Weights,
    share: Annotated[float, Field(gt=0)] = 0.01,
    follows: Literal["schedule", "rate", "nothing"] = "schedule",
) -> Iterator[None]:
    """``Δw <- c ‖w‖ Δw / ‖Δw‖``: the optimizer chooses the direction of updates alone (after Kosson et al., 2024).

    It takes the size of early updates out of what warm-up does. ``share`` is c at the peak of the rate where c follows
    the ``schedule``; where it follows the ``rate`` it is c over the rate, so that a larger rate is a larger update.
    ``follows`` says with what the size of updates changes.
    An update of 0 and a weight of 0 stay so.
    """
    stepped = require_optimizer(optimizer)
    weights = list(selected_weights(model, where).values())

    @torch.no_grad()
    def before() -> Callable[[], None]:
        starts = [p.detach().clone() for p in weights]
        factors: dict[int, float] = {}
        for group in stepped.param_groups:
            rate = group["lr"]
            first = group.get("initial_lr", rate)
            of_schedule = rate / first if first else 0.0  # a rate of 0 makes no update, whatever it is a share of
            factor = {"schedule": of_schedule, "rate": rate, "nothing": 1.0}[follows]
            factors |= {id(p): factor for p in group["params"]}

        @torch.no_grad()
        def after() -> None:
            for p, start in zip(weights, starts, strict=True):
                change = p - start
                length = torch.linalg.vector_norm(change)
                target = share * factors[id(p)] * torch.linalg.vector_norm(start)
                # No branch on a number, so that nothing waits for the device.
                p.copy_(start + change * torch.where(length > 0, target / length.clamp_min(1e-38), 0))

        return after

    with around_steps(stepped, before):
        yield
