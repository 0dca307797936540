"""Schedule-free AdamW: an average of the iterates in place of a falling rate (Defazio et al., 2024).

    y = (1 - β1) z + β1 x,    z <- z - γ (g / (sqrt(v̂) + eps) + λ y),    x <- (1 - c) x + c z

with g = ∇L(y), v <- β2 v + (1 - β2) g², v̂ = v / (1 - β2^t) and c = γ_max² / Σ γ_max², the largest rate so far. The
weights of the model are x, which are evaluated, measured and kept. Gradients are taken at y.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor
from torch.optim.optimizer import ParamsT

from lnlab.optim.moments import Group, Memory, MomentsOptimizer, update_second_moment
from lnlab.optim.optimizers import Beta, Decay, Epsilon, GradientsElsewhere, LearningRate, optimizers


@optimizers.register("schedule_free")
class ScheduleFree(MomentsOptimizer, GradientsElsewhere):
    """``x <- (1 - c) x + c z, z <- z - γ (g(y) / (sqrt(v̂) + eps) + λ y)``: AdamW on averages (Defazio et al., 2024).

    It is made for a constant rate, which the authors warm up: ``schedule: {kind: constant, warmup_steps: ...}``.
    """

    def __init__(
        self,
        parameters: ParamsT,
        *,
        lr: LearningRate = 0.0025,
        beta1: Beta = 0.9,
        beta2: Beta = 0.999,
        eps: Epsilon = 1e-8,
        weight_decay: Decay = 0.0,
    ) -> None:
        super().__init__(parameters, lr=lr, betas=(beta1, beta2), eps=eps, weight_decay=weight_decay)

    @contextmanager
    def at_gradient_point(self) -> Iterator[None]:
        """Set the weights to y, where the gradient is taken, and restore x bit for bit on leaving."""
        # A parameter without memory has made no update: z is x, and so is y.
        kept = [(p, p.detach().clone()) for group in self.param_groups for p in group["params"] if self.state.get(p)]
        betas = {id(p): group["betas"][0] for group in self.param_groups for p in group["params"]}
        with torch.no_grad():
            for p, x in kept:
                p.copy_(_between(x, self.state[p], betas[id(p)]))
        try:
            yield
        finally:
            with torch.no_grad():
                for p, x in kept:
                    p.copy_(x)

    def update(self, parameter: Tensor, gradient: Tensor, memory: Memory, group: Group) -> None:
        """Move z by the gradient at y, and x, the parameter, to the new average."""
        if not memory:
            # Of each parameter and not of its group, which an intervention may divide for the time of a step.
            memory.update(step=0, z=parameter.detach().clone(), exp_avg_sq=torch.zeros_like(parameter))
            memory.update(largest_rate=0.0, squares=0.0)
        memory["step"] += 1
        update_second_moment(memory, gradient, group)
        memory["largest_rate"] = max(memory["largest_rate"], group["lr"])
        memory["squares"] += memory["largest_rate"] ** 2
        share = memory["largest_rate"] ** 2 / memory["squares"]
        root = (memory["exp_avg_sq"] / (1 - group["betas"][1] ** memory["step"])).sqrt_().add_(group["eps"])
        direction = (gradient / root).add_(_between(parameter, memory, group["betas"][0]), alpha=group["weight_decay"])
        memory["z"].sub_(direction, alpha=group["lr"])
        parameter.lerp_(memory["z"], share)


def _between(x: Tensor, memory: Memory, beta1: float) -> Tensor:
    """``y = (1 - β1) z + β1 x``."""
    y: Tensor = torch.lerp(memory["z"], x, beta1)
    return y
