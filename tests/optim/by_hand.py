"""Every optimizer's path over 200 updates of a quadratic, by its formula, with numpy.

Means are taken as the sums over all gradients so far that they stand for: m_t = (1 - beta) Σ beta^(t-i) g_i.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.optim.quadratic import START, gradient, rate

Array = np.ndarray
STEPS = 200


def path(step: Callable[[Array, list[Array], float], Array], coupled: float = 0.0) -> Array:
    """θ after each update, ``step(θ, gradients so far, rate) -> θ``; decay that is coupled is in the gradients."""
    x, gradients, found = START, [], []
    for t in range(1, STEPS + 1):
        gradients.append(gradient(x) + coupled * x)
        x = step(x, gradients, t)
        found.append(x)
    return np.array(found)


def mean(values: list[Array], beta: float) -> Array:
    """The exponential mean that begins at 0."""
    n = len(values)
    return (1 - beta) * sum(beta ** (n - 1 - i) * value for i, value in enumerate(values))


def squares(values: list[Array]) -> list[Array]:
    return [value**2 for value in values]


def sgd(lr: float = 0.01, momentum: float = 0.0, nesterov: bool = False, weight_decay: float = 0.0) -> Array:
    def step(x: Array, g: list[Array], t: int) -> Array:
        ball = sum(momentum ** (t - 1 - i) * each for i, each in enumerate(g))
        return x - rate(lr, t) * (g[-1] + momentum * ball if nesterov else ball)

    return path(step, weight_decay)


def adagrad(lr: float = 0.01, eps: float = 1e-10, weight_decay: float = 0.0) -> Array:
    return path(lambda x, g, t: x - rate(lr, t) * g[-1] / (np.sqrt(sum(squares(g))) + eps), weight_decay)


Moments = Callable[[list[Array], int, float, float], tuple[Array, Array]]
"""First and second moment of the gradients so far after t updates, both without bias."""


def by_moments(
    moments: Moments,
    lr: float = 1e-3,
    beta1: float = 0.9,
    beta2: float = 0.999,
    eps: float = 1e-8,
    weight_decay: float = 0.0,
    decoupled: bool = False,
    frozen: int = 0,
) -> Array:
    def step(x: Array, g: list[Array], t: int) -> Array:
        if t <= frozen:
            return x
        first, second = moments(g, t, beta1, beta2)
        kept = 1 - decoupled * weight_decay * rate(lr, t)
        return kept * x - rate(lr, t) * first / (np.sqrt(second) + eps)

    return path(step, 0.0 if decoupled else weight_decay)


def adam(**options: Any) -> Array:
    def moments(g: list[Array], t: int, beta1: float, beta2: float) -> tuple[Array, Array]:
        return mean(g, beta1) / (1 - beta1**t), mean(squares(g), beta2) / (1 - beta2**t)

    return by_moments(moments, **options)


def adamw(weight_decay: float = 0.01, **options: float) -> Array:
    return adam(weight_decay=weight_decay, decoupled=True, **options)


def adam_eps(eps: float = 1e-4, **options: Any) -> Array:
    return adam(eps=eps, **options)


def radam(
    lr: float = 1e-3,
    beta1: float = 0.9,
    beta2: float = 0.999,
    eps: float = 1e-8,
    weight_decay: float = 0.0,
    decoupled: bool = False,
) -> Array:
    def step(x: Array, g: list[Array], t: int) -> Array:
        first = mean(g, beta1) / (1 - beta1**t)
        limit = 2 / (1 - beta2) - 1
        length = limit - 2 * t * beta2**t / (1 - beta2**t)
        adaptive = np.ones_like(x)
        if length > 5:
            r = np.sqrt((length - 4) * (length - 2) * limit / ((limit - 4) * (limit - 2) * length))
            adaptive = r * np.sqrt(1 - beta2**t) / (np.sqrt(mean(squares(g), beta2)) + eps)
        return (1 - decoupled * weight_decay * rate(lr, t)) * x - rate(lr, t) * first * adaptive

    return path(step, 0.0 if decoupled else weight_decay)


def adam_2k(freeze: int = 2000, correct_first_moment: bool = True, **options: float) -> Array:
    def moments(g: list[Array], t: int, beta1: float, beta2: float) -> tuple[Array, Array]:
        first = mean(g[freeze:], beta1) / (1 - beta1 ** (t - freeze if correct_first_moment else t))
        return first, mean(squares(g), beta2) / (1 - beta2**t)

    return by_moments(moments, decoupled=True, frozen=freeze, **options)


def restarted_adam(after: int = 100, **options: float) -> Array:
    def moments(g: list[Array], t: int, beta1: float, beta2: float) -> tuple[Array, Array]:
        seen = g[after:] if t > after else g
        return mean(seen, beta1) / (1 - beta1 ** len(seen)), mean(squares(seen), beta2) / (1 - beta2 ** len(seen))

    return by_moments(moments, decoupled=True, **options)


def gi_adam(**options: Any) -> Array:
    def moments(g: list[Array], t: int, beta1: float, beta2: float) -> tuple[Array, Array]:
        second = (beta2**t * g[0] ** 2 + mean(squares(g), beta2)) / (1 - beta2**t)
        return mean(g, beta1) / (1 - beta1**t), second

    return by_moments(moments, **options)
