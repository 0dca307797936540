"""``Var ψ(t)``, ``ψ(t) = sqrt((1 - β2^t) / ((1 - β2) Σ_i β2^(t-i) g_i²))``: of Adam's rate, for g ~ N(0, σ²).

With as few gradients as at the start, the variance of ψ, the rate of an entry, is unbounded. Where ψ² has the scaled
inverse chi-squared distribution with ρ > 4 degrees of freedom and scale τ² = 1/σ² (Liu et al., 2020, Theorem 1),

    Var ψ = τ² (ρ/(ρ - 2) - ρ 2^(2ρ - 5)/π B((ρ - 1)/2, (ρ - 1)/2)²),

to first order τ² ρ/(2 (ρ - 2)(ρ - 4)). RAdam takes ρ = ρ_t and multiplies ψ by r_t, so that its variance stays. At t =
1 and 2 the variance is infinite. That of a sample grows with its size, linearly at t = 1 and logarithmically at t = 2.
The computation is in float64.
"""

from collections.abc import Iterator
from itertools import count, takewhile
from math import exp, lgamma, log, pi
from typing import Annotated

import torch
from pydantic import Field
from torch import Generator, Tensor, nn

from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.probes.probe import State, probes
from lnlab.probes.support.known_sites import PlacesByQuantity
from lnlab.randomness import Draw
from lnlab.rectification import rectification
from lnlab.registry import Choice
from lnlab.tables import Row
from lnlab.vocabulary.adam_moments import PSI_VARIANCE

_Beta = Annotated[float, Field(gt=0, lt=1)]
_FEWEST = 10
"""Trajectories over which a variance is taken."""

_QUANTITIES = tuple(PSI_VARIANCE)


def _places(_: nn.Module, choice: Choice) -> PlacesByQuantity:
    betas = choice["beta2"] if isinstance(choice["beta2"], list | tuple) else [choice["beta2"]]
    memories = [round(1 / (1 - beta)) for beta in betas]
    at = [float(t) for t in log_spaced_steps(choice["steps"], choice["points"])]
    sizes = list(takewhile(lambda size: size >= _FEWEST, (choice["trajectories"] // 10**n for n in count())))
    own = [{"index": memory, "x": x} for memory in memories for x in at]
    return {
        **dict.fromkeys((_QUANTITIES[0], *_QUANTITIES[2:]), own),
        _QUANTITIES[1]: [{"index": size, "x": x} for size in sizes for x in at],
    }


@probes.register("psi_variance", table="lines", passes=lambda _: 0.0, quantities=PSI_VARIANCE, sites=_places)
def psi_variance(
    state: State,
    *,
    beta2: _Beta | Annotated[tuple[_Beta, ...], Field(min_length=1)] = 0.999,
    sigma: Annotated[float, Field(gt=0)] = 1.0,
    trajectories: Annotated[int, Field(ge=_FEWEST)] = 5000,
    steps: Annotated[int, Field(ge=1)] = 6000,
    points: Annotated[int, Field(ge=2)] = 60,
) -> Iterator[Row]:
    """``Var sqrt((1 - β2^t)/((1 - β2) Σ_i β2^(t-i) g_i²))``: of Adam's rate for noise (Liu et al., 2020, Section 3).

    Simulated without a model, over ``trajectories`` of gradients g ~ N(0, σ²), and at about ``points`` times up to
    ``steps`` as ``x``, equally far apart in the logarithm. ``index`` is the memory of v, 1/(1 - β2) updates. There are
    ``averaged_gradients``, ρ_t; and where it is above 4 ``rectification``, r_t; ``rectified_variance``, of r_t ψ; and
    the variance by the closed form (``_law``) and to first order. ``psi_variance_of_samples`` has the size of the
    sample as ``index``: all trajectories, a tenth of them and so on, the median over samples of that size; it is of the
    first β2. Every β2 sees the same gradients.

    Raises:
        LabError: two β2 have the same memory.
    """
    betas = beta2 if isinstance(beta2, tuple) else (beta2,)
    memories = [round(1 / (1 - beta)) for beta in betas]
    if len(set(memories)) < len(memories):
        what = f"psi_variance tells several beta2 apart by 1/(1 - beta2), and finds {sorted(memories)}"
        raise LabError(Issue("duplicate", "", what, "leave one of those that are alike out"))
    for t, psi in simulated(state.draw, betas, sigma, trajectories, log_spaced_steps(steps, points)):
        for memory, beta, rates in zip(memories, betas, psi, strict=True):
            sample = rates.var().item()
            _, rho, r = rectification(t, beta)
            values = [sample, rho]
            if r is not None:
                values += [r, r * r * sample, closed_form(rho, sigma), first_order(rho, sigma)]
            for quantity, value in zip((_QUANTITIES[0], *_QUANTITIES[2:]), values, strict=False):
                yield {"quantity": quantity, "index": memory, "x": float(t), "value": value}
        for size, value in variance_by_sample_size(psi[0]).items():
            yield {"quantity": _QUANTITIES[1], "index": size, "x": float(t), "value": value}


def log_spaced_steps(steps: int, points: int) -> list[int]:
    """About ``points`` whole steps from 1 to ``steps``, equally spaced in the logarithm."""
    return sorted({round(steps ** (i / (points - 1))) for i in range(points)})


def simulated(
    draw: Draw, betas: tuple[float, ...], sigma: float, trajectories: int, steps: list[int]
) -> Iterator[tuple[int, Tensor]]:
    """Yield each of the increasing ``steps`` with ψ of every trajectory: (betas, trajectories)."""
    generator = Generator().manual_seed(draw("psi"))
    beta = torch.tensor(betas, dtype=torch.float64)[:, None]
    sums = torch.zeros(len(betas), trajectories, dtype=torch.float64)
    recorded = set(steps)
    for t in range(1, steps[-1] + 1):
        g = torch.randn(trajectories, generator=generator, dtype=torch.float64)
        sums.mul_(beta).add_((sigma * g).square_())
        if t in recorded:
            yield t, ((1 - beta**t) / ((1 - beta) * sums)).sqrt()


def closed_form(rho: float, sigma: float = 1.0) -> float:
    """The variance of ψ by Theorem 1, for ρ > 2. Its second term is the square of the mean of ψ."""
    # In logarithms: at β2 = 0.999 ρ is about 2,000, and 2^(2ρ - 5) is no float64.
    half = (rho - 1) / 2
    log_beta = 2 * lgamma(half) - lgamma(rho - 1)
    return (rho / (rho - 2) - exp(log(rho) + (2 * rho - 5) * log(2) - log(pi) + 2 * log_beta)) / sigma**2


def first_order(rho: float, sigma: float = 1.0) -> float:
    """The variance of ψ to first order in that of ψ², for ρ > 4."""
    return rho / (2 * (rho - 2) * (rho - 4) * sigma**2)


def variance_by_sample_size(psi: Tensor) -> dict[int, float]:
    """The variance within a sample of ψ (trajectories,) by sample size, as the median over all samples of that size."""
    variances = {}
    size = len(psi)
    while size >= _FEWEST:
        variances[size] = psi[: len(psi) // size * size].view(-1, size).var(1).median().item()
        size //= 10
    return variances
