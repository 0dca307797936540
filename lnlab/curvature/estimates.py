"""``tr H^p ≈ n/K Σ_k v_kᵀ H^p v_k``: moments from the runs that give the density (Ubaru, Chen and Saad, 2017).

The K draws are independent, so that the mean has the standard error s/√K, and Student's law with K - 1 degrees gives an
interval. It holds for this one matrix: draws bound the error of the estimate and are no replicates of a model. With few
draws and a spectrum of a few large eigenvalues the draws are skewed, and intervals cover less than their nominal level.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import scipy  # scipy.special takes a while to import, and loads when it is first used

from lnlab.curvature.spectrum import Spectrum


@dataclass(frozen=True)
class Estimate:
    """A number with its standard error over draws.

    Attributes:
        value: the mean.
        error: its standard error, 0 where the number is exact and NaN for a single draw.
        draws: number of draws in the mean.
    """

    value: float
    error: float
    draws: int

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Student's symmetric interval."""
        if self.error == 0:
            return self.value, self.value
        reach = (
            self.error * float(scipy.special.stdtrit(self.draws - 1, (1 + confidence) / 2))
            if self.draws > 1
            else math.nan
        )
        return self.value - reach, self.value + reach


def mean_estimate(values: Sequence[float]) -> Estimate:
    """The mean of independent draws, with the standard error s/√K."""
    mean = math.fsum(values) / len(values)
    if len(values) == 1:
        return Estimate(mean, math.nan, 1)
    variance = math.fsum((x - mean) ** 2 for x in values) / (len(values) - 1)
    return Estimate(mean, math.sqrt(variance / len(values)), len(values))


def power_trace(spectrum: Spectrum, power: int) -> Estimate:
    """Estimate ``tr H^power``. Each draw of m steps is exact for its start vector up to the power 2m - 1."""
    estimate = mean_estimate([spectrum.size * q.moment(power) for q in spectrum.quadratures])
    return replace(estimate, error=0.0) if spectrum.exact else estimate


def trace(spectrum: Spectrum) -> Estimate:
    """``tr H = Σ λ``."""
    return power_trace(spectrum, 1)


def squared_frobenius(spectrum: Spectrum) -> Estimate:
    """``‖H‖_F² = Σ λ²``, which can be compared between models of different size."""
    return power_trace(spectrum, 2)


def largest(spectrum: Spectrum) -> tuple[float, float]:
    """The largest node of all draws, λ_max from below, and the largest distance from it to an eigenvalue."""
    nodes = ((float(q.nodes[-1]), float(q.residuals[-1])) for q in spectrum.quadratures)
    return max(nodes, key=lambda node: node[0])


def smallest(spectrum: Spectrum) -> tuple[float, float]:
    """The smallest node of all draws, λ_min from above, and the largest distance from it to an eigenvalue."""
    nodes = ((float(q.nodes[0]), float(q.residuals[0])) for q in spectrum.quadratures)
    return min(nodes, key=lambda node: node[0])
