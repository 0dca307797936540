"""``‖θ_t - θ_0‖``: how far training has led from where it began (Nagarajan and Kolter, 2019).

States of two runs at the same step may be at very different distances from their start: over the first 100 of 4,000
steps of warm-up the sums of learning rates differ by a factor of 79. What is compared at a step is compared at this
distance too. In float64.
"""

import math
from collections.abc import Iterator

from torch import Tensor

from lnlab.nn.sites import placed
from lnlab.probes.probe import State, probes
from lnlab.probes.training import initial
from lnlab.tables import Row

QUANTITIES = ("displacement", "relative_displacement", "total_displacement", "total_relative_displacement")


@probes.register("displacement", table="sites", passes=lambda _: 0.0, quantities=QUANTITIES, trained=True)
def displacement(state: State) -> Iterator[Row]:
    """``‖θ_t - θ_0‖, ‖θ_t - θ_0‖/‖θ_0‖``: distance from the initial parameters (Nagarajan and Kolter, 2019).

    Of every parameter at its site, and as ``total`` of all of them as one vector, a tied table once. A parameter that
    began at 0 has no relative distance.

    Raises:
        LabError: the state does not know where it began.
    """
    start = initial(state)
    found = {name: _norms(p, start[name]) for name, p in state.model.named_parameters()}
    for site, norms in placed(state.model, found):
        for quantity, value in zip(QUANTITIES, _with_ratio(*norms), strict=False):
            yield {"quantity": quantity, **site.row(), "value": value}
    total = _with_ratio(*(math.hypot(*column) for column in zip(*found.values(), strict=True)))
    for quantity, value in zip(QUANTITIES[2:], total, strict=False):
        yield {"quantity": quantity, "value": value}


def _norms(now: Tensor, start: Tensor) -> tuple[float, float]:
    """‖θ_t - θ_0‖ and ‖θ_0‖."""
    began = start.double()
    return (now.detach().double() - began).norm().item(), began.norm().item()


def _with_ratio(moved: float, start: float) -> list[float]:
    return [moved, moved / start] if start else [moved]
