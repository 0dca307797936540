"""``m <- beta1 m + (1 - beta1) g``, ``v <- beta2 v + (1 - beta2) g²``: Adam in its parts (Kingma and Ba, 2015).

The parts are for optimizers that leave one out or initialize it differently. Their state has the names of
torch.optim.Adam's: ``step`` (a number here), ``exp_avg`` (m), ``exp_avg_sq`` (v). So code that reads Adam's state can
read theirs.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer
from torch.optim.optimizer import ParamsT

Group = dict[str, Any]
Memory = dict[str, Any]


class MomentsOptimizer(Optimizer):
    """An optimizer that is defined by its step of one parameter."""

    def __init__(self, parameters: ParamsT, **options: float | tuple[float, float]) -> None:
        super().__init__(parameters, options)

    def update(self, parameter: Tensor, gradient: Tensor, memory: Memory, group: Group) -> None:
        """Change a parameter and its memory (empty before its first gradient), both in place."""
        raise NotImplementedError

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """Update every parameter that has a gradient. The others and their memory stay as they are.

        This does not call a parent's ``step``. Once that has been hooked, hooks on a step would run twice.
        """
        loss = None if closure is None else torch.enable_grad()(closure)()
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self.update(parameter, parameter.grad, self.state[parameter], group)
        return loss


def init_moments(memory: Memory, second: Tensor) -> None:
    """Initialize a parameter's memory: no update, m = 0, and v = ``second``, which later updates change in place."""
    memory.update(step=0, exp_avg=torch.zeros_like(second), exp_avg_sq=second)


def update_first_moment(memory: Memory, gradient: Tensor, group: Group) -> None:
    """``m <- beta1 m + (1 - beta1) g``, in place."""
    memory["exp_avg"].lerp_(gradient, 1 - group["betas"][0])


def update_second_moment(memory: Memory, gradient: Tensor, group: Group) -> None:
    """``v <- beta2 v + (1 - beta2) g²``, in place."""
    beta2 = group["betas"][1]
    memory["exp_avg_sq"].mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)


def apply_adam_step(parameter: Tensor, memory: Memory, group: Group, first: int, second: int) -> None:
    """``θ <- θ - lr m̂ / (sqrt(v̂) + eps)``, the parameter in place.

    The bias of m is corrected for ``first`` updates and that of v for ``second``, as an optimizer may begin one of them
    late.
    """
    beta1, beta2 = group["betas"]
    # eps joins the corrected root, as in torch.optim.Adam; in RAdam it joins sqrt(v) before the correction.
    root = (memory["exp_avg_sq"].sqrt() / (1 - beta2**second) ** 0.5).add_(group["eps"])
    parameter.addcdiv_(memory["exp_avg"], root, value=-group["lr"] / (1 - beta1**first))
