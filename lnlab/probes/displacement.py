"""``‖θ_t - θ_0‖``: how far training has led from where it began (Nagarajan and Kolter, 2019).

States of two runs at the same step may be at very different distances from their start: over the first 100 of 4,000
steps of warm-up the sums of learning rates differ by a factor of 79. What is compared at a step is compared at this
distance too. In float64. Entries whose gradient is 0 but for rounding, such as the biases of keys, would be where they
began, and are where the machine's rounding has led them: they are left out (``rounding``).
"""

import math
from collections.abc import Iterator

from torch import Tensor

from lnlab.nn.sites import placed
from lnlab.probes.probe import State, probes
from lnlab.probes.rounding import last_noise, shares, without
from lnlab.probes.support.training_state import initial
from lnlab.tables import Row

_QUANTITIES = (
    "displacement",
    "relative_displacement",
    "total_displacement",
    "total_relative_displacement",
    "displacement_unresolved_share",
)


@probes.register("displacement", version=2, table="sites", passes=lambda _: 0.0, quantities=_QUANTITIES, trained=True)
def displacement(state: State) -> Iterator[Row]:
    """``‖θ_t - θ_0‖, ‖θ_t - θ_0‖/‖θ_0‖``: distance from the initial parameters (Nagarajan and Kolter, 2019).

    Of every parameter at its site, and as ``total`` of all of them as one vector, a tied table once. A parameter that
    began at 0 has no relative distance. ``displacement_unresolved_share`` is the share of a bias or shift that is left
    out, as its gradients are below their rounding noise; a parameter of such entries alone has nothing else.

    Raises:
        LabError: the state does not know where it began.
    """
    start = initial(state)
    now = {name: p.detach() for name, p in state.model.named_parameters()}
    masks = last_noise(state, lambda: {name: p - start[name] for name, p in now.items()})
    moved = {name: (without(p, masks.get(name)), without(start[name], masks.get(name))) for name, p in now.items()}
    found = {name: _norms(*pair) for name, pair in moved.items() if pair[0].numel()}
    for site, norms in placed(state.model, found):
        for quantity, value in zip(_QUANTITIES, _with_ratio(*norms), strict=False):
            yield {"quantity": quantity, **site.row(), "value": value}
    total = _with_ratio(*(math.hypot(*column) for column in zip(*found.values(), strict=True)))
    for quantity, value in zip(_QUANTITIES[2:4], total, strict=False):
        yield {"quantity": quantity, "value": value}
    yield from shares(_QUANTITIES[4], state.model, masks)


def _norms(now: Tensor, start: Tensor) -> tuple[float, float]:
    """‖θ_t - θ_0‖ and ‖θ_0‖."""
    began = start.double()
    return (now.double() - began).norm().item(), began.norm().item()


def _with_ratio(moved: float, start: float) -> list[float]:
    return [moved, moved / start] if start else [moved]
