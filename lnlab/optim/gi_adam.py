"""``v_0 = g_0²``: Adam whose v begins at the square of the first gradient, GI-Adam (Kalra and Barkeshli, 2024)."""

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


@optimizers.register("gi_adam")
class GradientInitializedAdam(MomentsOptimizer):
    """``v_0 = g_0²``: Adam with an initial v, otherwise unchanged (Kalra and Barkeshli, 2024).

    The bias of v is corrected as if it had begun at 0, so v̂ is too large at first: under a constant gradient the t-th
    step is sqrt(1 - beta2^t) of Adam's, a warm-up that beta2 sets. g_0 is the gradient of the first update, where the
    authors' code takes that of one batch more, at the same weights. ``weight_decay`` adds weight_decay θ to g, to g_0
    too, unless it is ``decoupled``.
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
        decoupled: bool = False,
    ) -> None:
        betas = (beta1, beta2)
        super().__init__(parameters, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, decoupled=decoupled)

    def update(self, parameter: Tensor, gradient: Tensor, memory: Memory, group: Group) -> None:
        """Make Adam's update, with v initialized from the first gradient of this parameter."""
        if group["decoupled"]:
            parameter.mul_(1 - group["lr"] * group["weight_decay"])
        else:
            gradient = gradient.add(parameter, alpha=group["weight_decay"])
        if not memory:
            init_moments(memory, gradient.square())
        memory["step"] += 1
        update_first_moment(memory, gradient, group)
        update_second_moment(memory, gradient, group)
        apply_adam_step(parameter, memory, group, memory["step"], memory["step"])
