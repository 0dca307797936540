"""``r_t = sqrt((ρ_t - 4)(ρ_t - 2) ρ_∞ / ((ρ_∞ - 4)(ρ_∞ - 2) ρ_t))``: RAdam's factor (Liu et al., 2020, Algorithm 2).

An exponential mean of squared gradients is taken for a plain mean over the last ρ_t of them,

    ρ_t = ρ_∞ - 2 t beta2^t / (1 - beta2^t),    ρ_∞ = 2 / (1 - beta2) - 1,

so that 1/sqrt(v̂) has about the variance ρ_t / (2 (ρ_t - 2)(ρ_t - 4) σ²), which is finite from ρ_t > 4 on. r_t² is its
smallest value, that of ρ_∞, over this one. Times r_t, the adaptive rate has the same variance at every t.
"""

from typing import NamedTuple

ADAPTIVE_ABOVE = 5
"""The ρ_t above which torch's RAdam divides by sqrt(v̂). The paper has > 4, and the authors' code >= 5."""


class Rectification(NamedTuple):
    """``rho_inf`` and ``rho_t``, numbers of gradients, and ``r_t``, which is None where no variance is finite."""

    rho_inf: float
    rho_t: float
    r_t: float | None


def rectification(t: int, beta2: float) -> Rectification:
    """ρ_∞, ρ_t and r_t at update t >= 1 of an optimizer whose v decays by 0 <= ``beta2`` < 1.

    r_t rises to 1, and it is in (0, 1) where ρ_t > 4, the paper's threshold (that of torch is 5: see ``radam``).

    >>> round(rectification(6, 0.999).r_t, 4)
    0.0258
    """
    rho_inf = 2 / (1 - beta2) - 1
    rho_t = rho_inf - 2 * t * beta2**t / (1 - beta2**t)
    if rho_t <= 4:
        return Rectification(rho_inf, rho_t, None)
    squared = (rho_t - 4) * (rho_t - 2) * rho_inf / ((rho_inf - 4) * (rho_inf - 2) * rho_t)
    return Rectification(rho_inf, rho_t, squared**0.5)
