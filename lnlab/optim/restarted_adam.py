"""Adam that resets m and v once, in the middle of training, to separate the effects of its state and of the weights.

After a warm-up both have changed: the weights have moved, and Adam's moments have settled. Resetting the moments keeps
the weights, as if they were handed to a new optimizer.
"""

from typing import Annotated

import torch
from pydantic import Field
from torch import Tensor
from torch.optim.optimizer import ParamsT

from lnlab.optim.moments import (
    Group,
    Memory,
    MomentsOptimizer,
    apply_adam_step,
    init_moments,
    update_first_moment,
    update_second_moment,
)
from lnlab.optim.optimizers import Beta, Decay, Epsilon, LearningRate, optimizers


@optimizers.register("restarted_adam")
class RestartedAdam(MomentsOptimizer):
    """``m = v = 0 after update a, else Adam's``: the weights go on, the memory begins anew (Kingma and Ba, 2015).

    ``after`` is a, counted in updates of each parameter. The bias of m and of v is corrected for the updates since, so
    that update a + 1 is lr sign(g), as the first one is. Weight decay is decoupled.
    """

    def __init__(
        self,
        parameters: ParamsT,
        *,
        lr: LearningRate = 1e-3,
        beta1: Beta = 0.9,
        beta2: Beta = 0.999,
        eps: Epsilon = 1e-8,
        weight_decay: Decay = 0.0,
        after: Annotated[int, Field(ge=1)] = 100,
    ) -> None:
        super().__init__(parameters, lr=lr, betas=(beta1, beta2), eps=eps, weight_decay=weight_decay, after=after)

    def update(self, parameter: Tensor, gradient: Tensor, memory: Memory, group: Group) -> None:
        """Make AdamW's update. The memory is emptied before the first update after ``after``."""
        if not memory:
            init_moments(memory, torch.zeros_like(parameter))
            memory["restarts"] = 0
        if memory["step"] == group["after"] and not memory["restarts"]:
            init_moments(memory, torch.zeros_like(parameter))
            memory["restarts"] = 1
        memory["step"] += 1
        parameter.mul_(1 - group["lr"] * group["weight_decay"])
        update_first_moment(memory, gradient, group)
        update_second_moment(memory, gradient, group)
        apply_adam_step(parameter, memory, group, memory["step"], memory["step"])
