"""``v <- β2 v + (1 - β2) g²`` alone for ``freeze`` updates, then Adam: Adam-2k of Figure 1 (Liu et al., 2020).

If the problem of Adam's first updates is that v averages few gradients, this solves it at the full rate, without
warm-up. ``t`` counts all updates, the frozen ones too.
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


@optimizers.register("adam_2k")
class Adam2k(MomentsOptimizer):
    """``Δθ = 0 while t <= freeze, then Adam's``: only v adapts at first, θ and m are frozen (Liu et al., 2020).

    Weight decay is decoupled, as in the authors' code, and frozen too. v̂ = v / (1 - beta2^t), as v has seen every
    gradient. m begins to move with θ, so its bias is corrected for its own updates, m̂ = m / (1 - beta1^(t - freeze)).
    The authors' code corrects m for all t, which is no correction any more: their first step is (1 - beta1) times as
    long, a ramp of about 10 updates that is not in the paper. ``correct_first_moment: false`` is theirs.

    The state before update ``freeze + 1`` is the initial one: give such a run ``freeze`` updates more than others.
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
        freeze: Annotated[int, Field(ge=0)] = 2000,
        correct_first_moment: bool = True,
    ) -> None:
        super().__init__(
            parameters,
            lr=lr,
            betas=(beta1, beta2),
            eps=eps,
            weight_decay=weight_decay,
            freeze=freeze,
            correct_first_moment=correct_first_moment,
        )

    def update(self, parameter: Tensor, gradient: Tensor, memory: Memory, group: Group) -> None:
        """Update v always. Update m, θ and its weight decay only after the frozen updates."""
        if not memory:
            init_moments(memory, torch.zeros_like(parameter))
        memory["step"] += 1
        update_second_moment(memory, gradient, group)
        moves = memory["step"] - group["freeze"]
        if moves > 0:
            parameter.mul_(1 - group["lr"] * group["weight_decay"])
            update_first_moment(memory, gradient, group)
            apply_adam_step(
                parameter, memory, group, moves if group["correct_first_moment"] else memory["step"], memory["step"]
            )
