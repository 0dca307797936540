"""``θ <- θ - lr r_t m̂ / sqrt(v̂)``: Adam with the variance of its adaptive rate rectified (Liu et al., 2020)."""

import torch
from torch.optim import Optimizer
from torch.optim.optimizer import ParamsT

from lnlab.optim.optimizers import Beta, Decay, Epsilon, LearningRate, optimizers


@optimizers.register("radam")
def radam(
    parameters: ParamsT,
    *,
    lr: LearningRate = 1e-3,
    beta1: Beta = 0.9,
    beta2: Beta = 0.999,
    eps: Epsilon = 1e-8,
    weight_decay: Decay = 0.0,
    decoupled: bool = False,
) -> Optimizer:
    """``Δθ = -lr r_t m̂ / sqrt(v̂) if ρ_t > 5, else -lr m̂``: Adam that begins as momentum SGD (Liu et al., 2020).

    ρ_t and r_t are those of ``lnlab.rectification``. This is torch's, and implementations differ in ways that
    move the first updates. Threshold: ρ_t > 5 here, > 4 in the paper, >= 5 in the authors' code; for beta2 from 0.98 to
    0.9995 the paper's first rectified update is the 5th, that of both codes the 6th. Below it: here, as in the paper,
    SGD with momentum at the full rate; the authors' code makes no step unless asked. Weight decay: here coupled
    (weight_decay θ joins g) unless ``decoupled``, as the paper's and the authors' is. eps: here it joins sqrt(v) before
    the bias of v is corrected; Adam adds it after.

    beta2 sets how long the rectification lasts: r_t = 0.9 at update 140 for beta2 = 0.98, 2,737 for 0.999. At
    beta2 <= 2/3 no ρ_t exceeds 5, and all of it is momentum SGD.
    """
    return torch.optim.RAdam(parameters, lr, (beta1, beta2), eps, weight_decay, decoupled_weight_decay=decoupled)
