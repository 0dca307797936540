"""``L(θ) = θᵀAθ/2 - bᵀθ`` in float64, θ in two tensors of different shape: what optimizers are run on."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from lnlab.optim.optimizers import optimizers

_RANDOM = np.random.default_rng(0)
_BASIS = np.linalg.qr(_RANDOM.normal(size=(7, 7)))[0]
A = _BASIS @ np.diag([0.1, 0.3, 0.5, 1.0, 2.0, 3.0, 4.0]) @ _BASIS.T
B = _RANDOM.normal(size=7)
START = _RANDOM.normal(size=7)
SHAPES = ((3,), (2, 2))


def gradient(x: np.ndarray) -> np.ndarray:
    return A @ x - B


def start() -> list[nn.Parameter]:
    """θ at the start: the first three numbers, and the other four as a square."""
    parts = torch.tensor(START).split([3, 4])
    return [nn.Parameter(part.clone().view(shape)) for part, shape in zip(parts, SHAPES, strict=True)]


def flat(parameters: Sequence[Tensor]) -> Tensor:
    return torch.cat([p.detach().flatten() for p in parameters])


def made(kind: str, parameters: Any, **options: Any) -> Optimizer:
    """An optimizer as a spec would choose it."""
    return optimizers.builder(optimizers.resolve({"kind": kind, **options}))(parameters)


def rate(lr: float, t: int) -> float:
    """A rate that changes at every update, as under a schedule."""
    return lr * (1 + t % 5) / 5


def take(optimizer: Optimizer, parameters: Sequence[nn.Parameter], t: int, lr: float) -> Tensor:
    """Make update t with its rate; θ after it."""
    x = torch.cat([p.flatten() for p in parameters])
    loss = x @ torch.tensor(A) @ x / 2 - torch.tensor(B) @ x
    optimizer.zero_grad()
    loss.backward()
    for group in optimizer.param_groups:
        group["lr"] = rate(lr, t)
    optimizer.step()
    return flat(parameters)
