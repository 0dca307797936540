"""``θ <- θ - lr m̂ / (sqrt(v̂) + eps)``: Adam and its two plainest relatives, all of them torch's.

Here m <- beta1 m + (1 - beta1) g and m̂ = m / (1 - beta1^t). v and v̂ are defined alike from g² and beta2. m and v
begin at 0. Coupled decay adds weight_decay θ to g, which the division by sqrt(v̂) then rescales. Decoupled decay
multiplies θ by 1 - lr weight_decay before the step, with the rate of the schedule. fairseq's Adam is decoupled: use
``adamw`` for it. Only ``adamw`` can spare vectors (``decays``), as training of GPT does.
"""

import torch
from torch.optim import Optimizer
from torch.optim.optimizer import ParamsT

from lnlab.optim.optimizers import Beta, Decay, Decays, Epsilon, LearningRate, decayed, optimizers


@optimizers.register("adam")
def adam(
    parameters: ParamsT,
    *,
    lr: LearningRate = 1e-3,
    beta1: Beta = 0.9,
    beta2: Beta = 0.999,
    eps: Epsilon = 1e-8,
    weight_decay: Decay = 0.0,
) -> Optimizer:
    """``Δθ = -lr m̂ / (sqrt(v̂) + eps)``: momentum over the root of the mean square gradient (Kingma and Ba, 2015).

    ``weight_decay`` is coupled: it adds weight_decay θ to g. Transformers often take ``beta2: 0.98``.
    """
    return torch.optim.Adam(parameters, lr, (beta1, beta2), eps, weight_decay)


@optimizers.register("adamw", later=("decays",))
def adamw(
    parameters: ParamsT,
    *,
    lr: LearningRate = 1e-3,
    beta1: Beta = 0.9,
    beta2: Beta = 0.999,
    eps: Epsilon = 1e-8,
    weight_decay: Decay = 0.01,
    decays: Decays = "all",
) -> Optimizer:
    """``θ <- (1 - lr weight_decay) θ, then Adam``: weight decay that no v rescales (Loshchilov and Hutter, 2019).

    With ``decays: all`` it falls on every parameter but gates; with ``matrices``, as GPT is trained, on those with two
    dimensions or more: on tables, but on no bias and no gain.
    """
    return torch.optim.AdamW(decayed(parameters, decays), lr, (beta1, beta2), eps, weight_decay)


@optimizers.register("adam_eps")
def adam_eps(
    parameters: ParamsT,
    *,
    lr: LearningRate = 1e-3,
    beta1: Beta = 0.9,
    beta2: Beta = 0.999,
    eps: Epsilon = 1e-4,
    weight_decay: Decay = 0.0,
    decoupled: bool = False,
) -> Optimizer:
    """``Δθ = -lr m̂ / (sqrt(v̂) + 1e-4)``: a step whose variance a large eps bounds (Liu et al., 2020).

    The adaptive rate 1/(sqrt(v̂) + eps) is below 1/eps, so its variance, were it uniform, is at most 1/(12 eps²). Where
    gradients are far below eps this is momentum SGD with the rate lr / eps. ``weight_decay`` adds weight_decay θ to g,
    unless it is ``decoupled``, as in the authors' code.
    """
    return torch.optim.Adam(parameters, lr, (beta1, beta2), eps, weight_decay, decoupled_weight_decay=decoupled)
