"""``r_t = sqrt((ρ_t - 4)(ρ_t - 2) ρ_∞ / ((ρ_∞ - 4)(ρ_∞ - 2) ρ_t))``: RAdam's factor (Liu et al., 2020, Algorithm 2).

ρ_t = ρ_∞ - 2 t β2^t/(1 - β2^t) is how many gradients a simple average would be of that is as old as the second moment
v_t on average; ρ_∞ = 2/(1 - β2) - 1 is its limit.
"""

from math import sqrt

LEAST = 4.0
"""The variance of the adaptive rate has a first order, and r_t is defined, where ρ_t is above."""


def rho_infinity(beta2: float) -> float:
    """ρ_∞, for 0 < β2 < 1."""
    return 2 / (1 - beta2) - 1


def rho(t: int, beta2: float) -> float:
    """ρ_t after update t = 1, 2, ...: it rises from 1 to ρ_∞."""
    return rho_infinity(beta2) - 2 * t * beta2**t / (1 - beta2**t)


def rectification(t: int, beta2: float) -> float:
    """r_t, which rises to 1.

    Raises:
        ValueError: ρ_t is not above 4.
    """
    now, limit = rho(t, beta2), rho_infinity(beta2)
    if now <= LEAST:
        raise ValueError(f"found rho = {now:.3g} at t = {t}, expected more than {LEAST:g}")
    return sqrt((now - 4) * (now - 2) * limit / ((limit - 4) * (limit - 2) * now))
