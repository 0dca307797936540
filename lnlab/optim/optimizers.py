"""Optimizers, ``(parameters) -> torch.optim.Optimizer``: the registry of all, and two whose formulas are short.

    u <- momentum u + g,   θ <- θ - lr u                       SGD, a heavy ball (Polyak, 1964)
    s <- s + g²,           θ <- θ - lr g / (sqrt(s) + eps)      Adagrad (Duchi et al., 2011)

``parameters`` are tensors, or groups of them with their own options, as in torch. The whole state of an optimizer is in
``state`` and ``param_groups``, as tensors and plain values, so that an optimizer restored from ``state_dict()`` goes on
bit for bit. Weight decay falls on every parameter, on tables, biases and gains, too, but on no gate of a placement
(alpha, omega, gate).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import torch
from pydantic import Field
from torch.optim import Optimizer
from torch.optim.optimizer import ParamsT

from lnlab.errors import LabError
from lnlab.facts import Facts
from lnlab.issues import Issue
from lnlab.registry import Registry

LearningRate = Annotated[float, Field(gt=0)]
Beta = Annotated[float, Field(ge=0, lt=1)]
Epsilon = Annotated[float, Field(gt=0)]
"""Never 0: where a gradient has always been 0 (a word that no batch held) there would be 0/0."""
Decay = Annotated[float, Field(ge=0)]
Decays = Literal["all", "matrices"]
"""What weight decay falls on: every parameter, or those with two dimensions or more."""


@dataclass(frozen=True)
class OptimizerFacts(Facts):
    """The facts of an optimizer.

    Attributes:
        splits: whether it gets the matrices inside layers and all other parameters as separate groups, distinguished by
            their key ``hidden``.
    """

    splits: bool = False


optimizers: Registry[Callable[..., Optimizer]] = Registry("optimizer", OptimizerFacts)


def decayed(parameters: ParamsT, decays: Decays) -> ParamsT:
    """The parameters, in groups of which those that do not decay have a decay of 0."""
    if decays == "all":
        return parameters
    listed: list[Any] = list(parameters)
    groups = listed if isinstance(listed[0], dict) else [{"params": listed}]
    split = [
        {**group, "params": [p for p in group["params"] if (p.dim() >= 2) is matrices]} | own
        for group in groups
        for matrices, own in ((True, {}), (False, {"weight_decay": 0.0}))
    ]
    return [group for group in split if group["params"]]


class GradientsElsewhere(ABC):
    """An optimizer that takes its gradients at other weights than those of the model."""

    @abstractmethod
    def at_gradient_point(self) -> AbstractContextManager[None]:
        """Set the weights to those at which the next gradient is taken, and restore them on leaving."""


@optimizers.register("sgd")
def sgd(
    parameters: ParamsT,
    *,
    lr: LearningRate = 0.01,
    momentum: Beta = 0.0,
    nesterov: bool = False,
    weight_decay: Decay = 0.0,
) -> Optimizer:
    """``u <- momentum u + g, θ <- θ - lr u``: descent, or a heavy ball (Robbins and Monro, 1951; Polyak, 1964).

    u begins as the first gradient, and the rate is outside of it: a schedule acts on the whole step at once.
    ``nesterov`` steps along g + momentum u (Sutskever et al., 2013). ``weight_decay`` adds weight_decay θ to g.

    Raises:
        LabError: Nesterov's step without momentum.
    """
    if nesterov and momentum == 0:
        what = "nesterov needs momentum, and there is none"
        raise LabError(Issue("no-effect", "optimizer.nesterov", what, "set optimizer.momentum, or remove it"))
    return torch.optim.SGD(parameters, lr, momentum, weight_decay=weight_decay, nesterov=nesterov)


@optimizers.register("adagrad")
def adagrad(
    parameters: ParamsT, *, lr: LearningRate = 0.01, eps: Epsilon = 1e-10, weight_decay: Decay = 0.0
) -> Optimizer:
    """``s <- s + g², θ <- θ - lr g / (sqrt(s) + eps)``: a rate for each weight that only falls (Duchi et al., 2011).

    ``weight_decay`` adds weight_decay θ to g.
    """
    return torch.optim.Adagrad(parameters, lr, weight_decay=weight_decay, eps=eps)
